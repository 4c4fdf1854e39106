INSERT INTO reprise_schema (version_id, is_applied) VALUES (?, true)
