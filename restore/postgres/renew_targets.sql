-- $1 targets, $2 token, $3 epoch, $4 lease. Only of a claim that is still the last, in a session whose epoch is still that of the claim.
UPDATE reprise.restore_targets t SET available_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $4
FROM json_array_elements_text($1::json) AS k (id), reprise.restore_sessions s
WHERE t.id = k.id::bigint AND t.token = $2 AND t.state = 'processing' AND s.id = t.session AND s.epoch = $3
