-- $1 session, $2 reason.
UPDATE reprise.restore_sessions SET state = 'cancelling', epoch = epoch + 1, paused = FALSE, reason = $2, trouble = ''
WHERE id = $1 AND finished_at = 0 AND state NOT IN ('reopening', 'cancelling')
