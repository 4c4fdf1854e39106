-- The answer of an effect, by the server's clock. Somebody else's answer stays, and nothing is returned.
INSERT INTO reprise.reprise_answered (head, tail, claimed_at, forget_at, record, answer)
SELECT $1, $2, $3, moment + $4, $5, $6 FROM reprise.reprise_micros(clock_timestamp()) AS moment
ON CONFLICT DO NOTHING
RETURNING forget_at - $4
