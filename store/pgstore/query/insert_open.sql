INSERT INTO reprise.reprise_open (head, tail, claimed_at, forget_at, record, answer)
VALUES ($1, $2, $3, $4, $5, $6)
