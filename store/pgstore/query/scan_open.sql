SELECT head, tail, false AS answered, claimed_at, forget_at, record
FROM reprise.reprise_open WHERE (head, tail) > ($1, $2) ORDER BY head, tail LIMIT $3
