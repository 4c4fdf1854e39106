-- $1 session, $2 token, $3 what the step waits for.
UPDATE reprise.restore_sessions SET trouble = $3 WHERE id = $1 AND token = $2
