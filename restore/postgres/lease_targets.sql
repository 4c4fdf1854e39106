-- $1 targets, $2 worker, $3 token, $4 epoch, $5 lease, $6 attempts up to which being taken is one. Nobody else may take them for so long.
UPDATE reprise.restore_targets t SET state = 'processing', worker = $2, token = $3, epoch = $4, available_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $5, attempts = GREATEST(t.attempts, LEAST(t.attempts + 1, $6))
FROM json_array_elements_text($1::json) AS k (id)
WHERE t.id = k.id::bigint
