-- $1 session, $2 token, $3 epoch, $4 state that it is in, $5 state in which it is over.
UPDATE reprise.restore_sessions SET state = $5, finished_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, lease_until = 0, trouble = ''
WHERE id = $1 AND token = $2 AND epoch = $3 AND state = $4
