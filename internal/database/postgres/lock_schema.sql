-- $1 name. The lock under which a schema is changed. Returns 1 when it is had.
SELECT 1 FROM (SELECT pg_advisory_xact_lock(hashtextextended($1, 0))) AS had
