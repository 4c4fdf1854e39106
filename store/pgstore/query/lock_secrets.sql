-- One process at a time decides on a new version. Nobody holds this lock for long.
SELECT pg_advisory_xact_lock(hashtextextended($1, 0))
