-- Makes the schema of PostgreSQL; MySQL has none.
DO 0
