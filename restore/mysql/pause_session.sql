-- $1 session, $2 whether it is to pause, $3 reason.
UPDATE restore_sessions SET paused = $2, reason = $3 WHERE id = $1 AND finished_at = 0 AND state <> 'cancelling'
