-- Deletes answers that are due, oldest first to the minute, but none whose key is held. Returns how many
-- were due, of at most $1, and how many of these were deleted.
WITH due AS (
    SELECT ctid AS at, head FROM reprise.reprise_answered
    WHERE forget_at >> 26 <= reprise.reprise_instant(transaction_timestamp()) >> 26
        AND forget_at <= reprise.reprise_instant(transaction_timestamp())
    ORDER BY forget_at >> 26 LIMIT $1
), gone AS (
    DELETE FROM reprise.reprise_answered WHERE ctid = ANY (ARRAY(
        SELECT at FROM due WHERE pg_try_advisory_xact_lock(('x' || left(replace(head::text, '-', ''), 16))::bit(64)::bigint)
    )) AND forget_at <= reprise.reprise_instant(transaction_timestamp())
    RETURNING 1
)
SELECT (SELECT count(*) FROM due), (SELECT count(*) FROM gone)
