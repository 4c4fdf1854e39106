-- Takes the locks of keys that are free, until the transaction ends.
SELECT count(*) FILTER (WHERE pg_try_advisory_xact_lock(lock)) FROM unnest($1::bigint[]) AS lock
