-- $1 session, $2 phase, $3 up to where it was listed, $4 up to where it is, $5 whether that is all, $6 targets and $7 units more, $8 token, $9 epoch.
UPDATE restore_phases SET listed = $4, complete = $5, targets = targets + $6, units = units + $7
WHERE session = $1 AND phase = $2 AND listed = $3 AND NOT complete
AND EXISTS (SELECT 1 FROM restore_sessions s WHERE s.id = $1 AND s.token = $8 AND s.epoch = $9)
