-- As insert_effect.sql, in a transaction that is its caller's: if there is an answer already, nothing is
-- returned, and the transaction can be used as before. Above READ COMMITTED the server may refuse instead.
INSERT INTO reprise.reprise_answered (head, tail, claimed_at, forget_at, record, answer)
VALUES ($1, $2, $3, reprise.reprise_instant(clock_timestamp()) + $4, $5, $6)
ON CONFLICT DO NOTHING
RETURNING forget_at
