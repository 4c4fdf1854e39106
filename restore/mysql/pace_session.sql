-- $1 session, $2 rate, $3 batch.
UPDATE restore_sessions SET rate = $2, batch = $3 WHERE id = $1 AND finished_at = 0
