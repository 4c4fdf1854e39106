-- The record of one key as it is committed. The time is that of the transaction's start, which in a
-- statement on its own comes before its snapshot; see Store.Apply for why it must.
SELECT reprise.reprise_clock(transaction_timestamp()), r.answered, r.claimed_at, r.forget_at, r.record, r.answer
FROM (SELECT) AS once LEFT JOIN LATERAL (
    SELECT true AS answered, claimed_at, forget_at, record, answer
    FROM reprise.reprise_answered WHERE head = $1 AND tail = $2
    UNION ALL
    SELECT false, claimed_at, forget_at, record, answer
    FROM reprise.reprise_open WHERE head = $1 AND tail = $2
    LIMIT 1
) AS r ON true
