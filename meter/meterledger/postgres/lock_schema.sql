-- The lock under which the schema is changed. Returns 1 when it is had.
SELECT 1 FROM (SELECT pg_advisory_xact_lock(hashtextextended('reprise meter migrate', 0))) AS had
