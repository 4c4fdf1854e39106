-- $1 schema. The tables that are there.
SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace($1)
