-- $1 session, $2 token, $3 lease. The manager renews its lease, also late if nobody took over.
UPDATE restore_sessions SET lease_until = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) + $3, heartbeat_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) WHERE id = $1 AND token = $2 AND finished_at = 0
