-- The record of a key whose lock is held; no row if there is none.
SELECT false AS awaited, true AS answered, claimed_at, forget_at, record, answer
FROM reprise.reprise_answered WHERE head = $1 AND tail = $2
UNION ALL
SELECT awaited, false, claimed_at, forget_at, record, answer
FROM reprise.reprise_open WHERE head = $1 AND tail = $2
