-- A change that leaves nothing, once it is deleted: when it is committed, everything that was committed before is durable.
INSERT INTO reprise_record (made_at, digest, claimed_at, forget_at, record) VALUES (?, ?, 0, 0, '')
