-- The $2 families after $1.
SELECT id FROM meter_families WHERE id > $1 ORDER BY id LIMIT $2
