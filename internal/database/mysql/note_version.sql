-- Notes the migration of a number.
INSERT INTO VERSIONS (version_id, is_applied) VALUES (NUMBER, true);
