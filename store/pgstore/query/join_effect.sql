-- As insert_effect.sql, in a transaction that is its caller's: if there is an answer already, nothing is
-- returned, and the transaction can be used as before. Above READ COMMITTED the server may refuse instead.
INSERT INTO reprise.reprise_answered (head, tail, claimed_at, forget_at, record, answer)
SELECT $1::uuid, $2::uuid, $3::bigint, reprise.reprise_instant(clock_timestamp()) + $4::bigint, $5::bytea, $6::bytea WHERE now() = $7
ON CONFLICT DO NOTHING
RETURNING forget_at
