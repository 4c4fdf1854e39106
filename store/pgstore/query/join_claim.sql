-- The claim of an effect in a transaction that does not see what was committed after its snapshot: if
-- somebody has claimed the key since, the server refuses, or nothing is returned.
INSERT INTO reprise.reprise_open (head, tail, claimed_at, record) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING
RETURNING claimed_at
