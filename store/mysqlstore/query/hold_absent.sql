-- Takes the lock of a key that has no record, by a row that is never committed as it is; and then the time.
INSERT INTO reprise_record (made_at, digest, claimed_at, forget_at, record) VALUES (reprise_clock(), ?, 0, 0, '');
SELECT reprise_clock()
