-- $1 session, $2 token, $3 lease. The manager renews its lease, also late if nobody took over.
UPDATE reprise.restore_sessions SET lease_until = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $3, heartbeat_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE id = $1 AND token = $2 AND finished_at = 0
