-- As look.sql, for many keys. One row a key.
SELECT k.i, reprise.reprise_clock(transaction_timestamp()), r.answered, r.claimed_at, r.forget_at, r.record, r.answer
FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS k (head, tail, i) LEFT JOIN LATERAL (
    SELECT true AS answered, claimed_at, forget_at, record, answer
    FROM reprise.reprise_answered WHERE head = k.head AND tail = k.tail
    UNION ALL
    SELECT false, claimed_at, forget_at, record, answer
    FROM reprise.reprise_open WHERE head = k.head AND tail = k.tail
    LIMIT 1
) AS r ON true
