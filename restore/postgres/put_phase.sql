-- $1 session, $2 phase, $3 name, $4 expected units. Leaves one that is there.
INSERT INTO reprise.restore_phases (session, phase, name, expected) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING
