-- Deletes claims and retryable records that are due, oldest first, but none whose key is held. Returns how
-- many were due, of at most $1, and how many of these were deleted.
WITH due AS (
    SELECT ctid AS at, head FROM reprise.reprise_open
    WHERE forget_at <= reprise.reprise_instant(transaction_timestamp())
    ORDER BY forget_at LIMIT $1
), gone AS (
    DELETE FROM reprise.reprise_open WHERE ctid = ANY (ARRAY(
        SELECT at FROM due WHERE pg_try_advisory_xact_lock(('x' || left(replace(head::text, '-', ''), 16))::bit(64)::bigint)
    )) AND forget_at <= reprise.reprise_instant(transaction_timestamp())
    RETURNING 1
)
SELECT (SELECT count(*) FROM due), (SELECT count(*) FROM gone)
