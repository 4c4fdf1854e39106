-- $1 targets: i target, a attempts before it was taken, $2 token. What was taken and not marked may be taken again at once, and was not tried. Whatever the epoch is: nothing is claimed by it.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (i BIGINT PATH '$.i', a INT PATH '$.a')) AS k STRAIGHT_JOIN restore_targets t ON t.id = k.i
SET t.state = 'pending', t.available_at = 0, t.worker = '', t.token = '', t.attempts = k.a
WHERE t.token = $2 AND t.state = 'processing'
