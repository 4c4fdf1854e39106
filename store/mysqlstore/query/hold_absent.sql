-- Takes the lock of a key that has no record, by a row that is never committed as it is; and then the time.
INSERT INTO reprise_record (claimed_at, digest, forget_at, record) VALUES (0, ?, 0, '');
SELECT reprise_clock()
