-- The version of a schema; VERSIONS is the table in which migrations are noted.
SELECT max(version_id) FROM reprise.VERSIONS WHERE is_applied
