-- $1 session, $2 token. The manager leaves.
UPDATE reprise.restore_sessions SET lease_until = 0, token = '' WHERE id = $1 AND token = $2
