-- $1 family.
SELECT id FROM meter_families WHERE id = $1 FOR UPDATE
