-- What a user needs to work with the tables and not change them.
GRANT SELECT ON VERSIONS TO ROLE;
GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE TO ROLE;
