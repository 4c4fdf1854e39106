-- A change that leaves nothing: when it is committed, everything that was committed before is durable. The time comes back as the id of an insertion.
INSERT INTO reprise_record (made_at, digest, claimed_at, forget_at, record) VALUES (LAST_INSERT_ID(reprise_clock()), ?, 0, 0, '');
