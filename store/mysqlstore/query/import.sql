-- Writes records of another store: all, or none if one of their keys has one.
INSERT INTO reprise_record (made_at, digest, claimed_at, forget_at, record, answer)
VALUES [(reprise_clock(), ?, ?, ?, ?, ?)]
