-- $1 family.
SELECT id FROM reprise.meter_families WHERE id = $1 FOR UPDATE
