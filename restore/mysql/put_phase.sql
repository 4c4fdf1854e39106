-- $1 session, $2 phase, $3 name, $4 expected units. Leaves one that is there.
INSERT INTO restore_phases (session, phase, name, expected) VALUES ($1, $2, $3, $4)
ON DUPLICATE KEY UPDATE name = restore_phases.name
