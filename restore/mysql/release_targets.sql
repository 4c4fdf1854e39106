-- $1 targets, $2 token. What was taken and not marked may be taken again at once, and was not tried. Whatever the epoch is: nothing is claimed by it.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (id BIGINT PATH '$')) AS k STRAIGHT_JOIN restore_targets t ON t.id = k.id
SET t.state = 'pending', t.available_at = 0, t.worker = '', t.token = '', t.attempts = GREATEST(t.attempts - 1, 0)
WHERE t.token = $2 AND t.state = 'processing'
