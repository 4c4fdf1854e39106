-- Takes the lock of a key until the transaction ends, if it is free.
SELECT pg_try_advisory_xact_lock($1)
