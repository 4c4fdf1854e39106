-- A page of all records in the order of their digests, from one snapshot.
SELECT head, tail, answered, claimed_at, forget_at, record FROM (
    (SELECT head, tail, true AS answered, claimed_at, forget_at, record
    FROM reprise.reprise_answered WHERE (head, tail) > ($1, $2) ORDER BY head, tail LIMIT $3)
    UNION ALL
    (SELECT head, tail, false, claimed_at, forget_at, record
    FROM reprise.reprise_open WHERE (head, tail) > ($1, $2) ORDER BY head, tail LIMIT $3)
) AS r ORDER BY head, tail LIMIT $3
