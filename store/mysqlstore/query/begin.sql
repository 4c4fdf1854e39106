-- Makes a new record, if there is none, and returns its time. Where that is not within the record's bounds, now that its key is locked, the
-- statement ends with an error, and so without the record: a subquery of two rows where a value is wanted. MySQL has no RETURNING.
INSERT INTO reprise_record (made_at, digest, claimed_at, forget_at, record)
VALUES (reprise_clock(), ?, made_at, IF(? = 0, 0, made_at + ?), ?)
RETURNING IF(reprise_clock() < ? AND made_at >= ?, made_at, (SELECT 1 UNION ALL SELECT 2))
