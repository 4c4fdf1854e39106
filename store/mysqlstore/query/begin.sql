-- Makes a new record, if there is none, and returns its time as the id of the insertion.
INSERT INTO reprise_record (made_at, digest, claimed_at, forget_at, record)
VALUES (LAST_INSERT_ID(reprise_clock()), ?, made_at, IF(? = 0, 0, made_at + ?), ?)
