-- The answer of an effect, by the server's clock. If there is one already, nothing of the transaction is
-- committed.
INSERT INTO reprise.reprise_answered (head, tail, claimed_at, forget_at, record, answer)
VALUES ($1, $2, $3, reprise.reprise_instant(clock_timestamp()) + $4, $5, $6)
RETURNING forget_at
