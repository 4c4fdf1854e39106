-- $1 families. Those that are there, locked in their order, with their plans: line, family, individual, qos, shared.
SELECT '', id, 0, 0, shared FROM reprise.meter_families WHERE id IN (SELECT k.id FROM json_array_elements_text($1::json) AS k (id)) ORDER BY id FOR UPDATE
