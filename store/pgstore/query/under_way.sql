-- Whether an effect holds the key, and the time.
SELECT NOT pg_try_advisory_xact_lock_shared($1, $2), reprise.reprise_clock(clock_timestamp())
