-- $1 targets, $2 worker, $3 token, $4 epoch, $5 lease, $6 attempts up to which being taken is one. Nobody else may take them for so long.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (id BIGINT PATH '$')) AS k STRAIGHT_JOIN restore_targets t ON t.id = k.id
SET t.state = 'processing', t.worker = $2, t.token = $3, t.epoch = $4, t.available_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) + $5, t.attempts = GREATEST(t.attempts, LEAST(t.attempts + 1, $6))
