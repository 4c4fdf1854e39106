-- $1 schema. What there is before a schema is made.
SELECT to_regnamespace($1) IS NOT NULL, current_setting('server_version_num')::int
