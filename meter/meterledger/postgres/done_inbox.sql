-- $1 numbers. Removes them.
DELETE FROM reprise.meter_inbox i USING json_array_elements_text($1::json) AS k (id) WHERE i.id = k.id::bigint
