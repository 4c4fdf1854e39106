-- $1 session, $2 phase, $3 targets more.
UPDATE restore_phases SET targets = targets + $3 WHERE session = $1 AND phase = $2
