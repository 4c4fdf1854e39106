-- $1 session, $2 number after which, $3 how many. Targets that could not be restored.
SELECT id, phase, from_key, to_key, units, priority, attempts, reason FROM restore_targets WHERE session = $1 AND state = 'failed' AND id > $2 ORDER BY id LIMIT $3
