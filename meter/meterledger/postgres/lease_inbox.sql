-- $1 numbers, $2 worker, $3 microseconds. Nobody else may take them for so long.
UPDATE reprise.meter_inbox i SET available_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $3, worker = $2
FROM json_array_elements_text($1::json) AS k (id) WHERE i.id = k.id::bigint
