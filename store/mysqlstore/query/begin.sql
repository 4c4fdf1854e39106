-- Makes a new record, if there is none, and returns its time as the id of the insertion.
INSERT INTO reprise_record (claimed_at, digest, forget_at, record)
VALUES (LAST_INSERT_ID(reprise_clock()), ?, IF(? = 0, 0, claimed_at + ?), ?)
