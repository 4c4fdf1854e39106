-- The record of a key whose lock is held, and the time, which is read under the lock. One row, always.
SELECT reprise.reprise_clock(clock_timestamp()), current_setting('transaction_isolation'),
    r.answered, r.awaited, r.claimed_at, r.forget_at, r.record, r.answer
FROM (SELECT) AS once LEFT JOIN LATERAL (
    SELECT true AS answered, false AS awaited, claimed_at, forget_at, record, answer
    FROM reprise.reprise_answered WHERE head = $1 AND tail = $2
    UNION ALL
    SELECT false, awaited, claimed_at, forget_at, record, answer
    FROM reprise.reprise_open WHERE head = $1 AND tail = $2
    LIMIT 1
) AS r ON true
