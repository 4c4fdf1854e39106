-- $1 targets, $2 token, $3 epoch, $4 lease. Only of a claim that is still the last, in a session whose epoch is still that of the claim.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (id BIGINT PATH '$')) AS k STRAIGHT_JOIN restore_targets t ON t.id = k.id STRAIGHT_JOIN restore_sessions s ON s.id = t.session
SET t.available_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) + $4
WHERE t.token = $2 AND t.state = 'processing' AND s.epoch = $3
