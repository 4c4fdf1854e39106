-- $1 targets, $2 token. What was taken and not marked may be taken again at once, and was not tried. Whatever the epoch is: nothing is claimed by it.
UPDATE reprise.restore_targets t SET state = 'pending', available_at = 0, worker = '', token = '', attempts = GREATEST(t.attempts - 1, 0)
FROM json_array_elements_text($1::json) AS k (id)
WHERE t.id = k.id::bigint AND t.token = $2 AND t.state = 'processing'
