-- $1 session, $2 owner, $3 token, $4 lease. Makes a process its manager if there is none, and everything that was begun before late.
UPDATE reprise.restore_sessions SET owner = $2, token = $3, lease_until = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $4, heartbeat_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, epoch = epoch + 1
WHERE id = $1 AND finished_at = 0 AND lease_until <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
