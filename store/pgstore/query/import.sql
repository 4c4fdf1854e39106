-- Writes records of another store where there are none, in the transaction that took the locks before. Returns
-- the places of those that it wrote: not of those whose key is held or has a record.
WITH k AS MATERIALIZED (
    SELECT k.* FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::boolean[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bytea[])
        WITH ORDINALITY AS k (head, tail, lock, answered, claimed_at, forget_at, record, answer, i)
    WHERE pg_try_advisory_xact_lock(lock)
        AND NOT EXISTS (SELECT FROM reprise.reprise_answered a WHERE a.head = k.head AND a.tail = k.tail)
        AND NOT EXISTS (SELECT FROM reprise.reprise_open o WHERE o.head = k.head AND o.tail = k.tail)
), answered AS (
    INSERT INTO reprise.reprise_answered (head, tail, claimed_at, forget_at, record, answer)
    SELECT head, tail, claimed_at, forget_at, record, answer FROM k WHERE answered
), opened AS (
    INSERT INTO reprise.reprise_open (head, tail, claimed_at, forget_at, record, answer)
    SELECT head, tail, claimed_at, forget_at, record, answer FROM k WHERE NOT answered
)
SELECT i FROM k
