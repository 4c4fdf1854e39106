SELECT pg_advisory_xact_lock(hashtextextended('reprise migrate ' || $1, 0))
