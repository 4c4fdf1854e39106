-- Families from $1 up to, not at, $2.
SELECT id FROM meter_families WHERE id >= $1 AND id < $2 ORDER BY id
