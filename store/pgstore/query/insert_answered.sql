INSERT INTO reprise.reprise_answered (head, tail, claimed_at, forget_at, record, answer)
VALUES ($1, $2, $3, $4, $5, $6)
