-- $1 lines. Those that are there, locked in their order, with their plans: line, family, individual, qos, shared.
SELECT id, '', individual, qos, 0 FROM reprise.meter_lines WHERE id IN (SELECT k.id FROM json_array_elements_text($1::json) AS k (id)) ORDER BY id FOR UPDATE
