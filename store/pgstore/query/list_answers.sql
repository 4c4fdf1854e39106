-- The answers of some records, in their order.
SELECT coalesce(a.answer, o.answer)
FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS k (head, tail, i)
    LEFT JOIN LATERAL (SELECT answer FROM reprise.reprise_answered WHERE head = k.head AND tail = k.tail LIMIT 1) a ON true
    LEFT JOIN LATERAL (SELECT answer FROM reprise.reprise_open WHERE head = k.head AND tail = k.tail LIMIT 1) o ON true
ORDER BY k.i
