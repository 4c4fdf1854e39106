-- What a role needs to work with the tables and not change them.
GRANT USAGE ON SCHEMA reprise TO ROLE;
GRANT SELECT ON reprise.VERSIONS TO ROLE;
GRANT SELECT, INSERT, UPDATE, DELETE ON reprise.TABLE TO ROLE;
