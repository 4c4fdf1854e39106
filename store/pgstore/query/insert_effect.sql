-- The answer of an effect, by the server's clock. If there is one already, nothing of the transaction is
-- committed. If it is not the transaction that began at $7, which has the key's lock, nothing is written.
INSERT INTO reprise.reprise_answered (head, tail, claimed_at, forget_at, record, answer)
SELECT $1::uuid, $2::uuid, $3::bigint, reprise.reprise_instant(clock_timestamp()) + $4::bigint, $5::bytea, $6::bytea WHERE now() = $7
RETURNING forget_at
