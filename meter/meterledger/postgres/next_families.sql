-- The $2 families from $1 on.
SELECT id FROM reprise.meter_families WHERE id >= $1 ORDER BY id LIMIT $2
