-- Makes a new record, if there is none, and returns its time. Where that is not within the record's bounds, now that its key is locked, the
-- statement ends with an error, and so without the record: of a sum that no number can hold. MySQL has no RETURNING.
INSERT INTO reprise_record (made_at, digest, claimed_at, forget_at, record)
VALUES (reprise_clock(), ?, made_at, IF(? = 0, 0, made_at + ?), ?)
RETURNING made_at + IF(reprise_clock() < ? AND made_at >= ?, 0, 9223372036854775807)
