-- $1 session, $2 phase, $3 how many. Targets that may be taken, in the order in which they are to be. Those that another takes are left out.
SELECT id, from_key, to_key, units, priority, attempts FROM reprise.restore_targets
WHERE session = $1 AND phase = $2 AND state IN ('pending', 'processing', 'retryable') AND available_at <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
ORDER BY priority, id LIMIT $3 FOR UPDATE SKIP LOCKED
