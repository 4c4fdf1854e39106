-- The version of a schema; VERSIONS is the table in which migrations are noted.
SELECT MAX(version_id) FROM VERSIONS WHERE is_applied
