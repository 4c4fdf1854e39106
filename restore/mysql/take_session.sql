-- $1 session, $2 owner, $3 token, $4 lease. Makes a process its manager if there is none, and everything that was begun before late.
UPDATE restore_sessions SET owner = $2, token = $3, lease_until = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) + $4, heartbeat_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)), epoch = epoch + 1
WHERE id = $1 AND finished_at = 0 AND lease_until <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))
