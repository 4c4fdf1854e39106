-- The $2 families after $1, locked, with their plans: id, line, family, individual, qos, shared.
SELECT id, '', id, 0, 0, shared FROM reprise.meter_families WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE
