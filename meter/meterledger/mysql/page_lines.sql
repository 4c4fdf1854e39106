-- The $2 lines after $1, locked, with their plans: id, line, family, individual, qos, shared.
SELECT id, id, '', individual, qos, 0 FROM meter_lines WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE
