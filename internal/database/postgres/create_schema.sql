-- Makes the schema of PostgreSQL; MySQL has none.
CREATE SCHEMA reprise
