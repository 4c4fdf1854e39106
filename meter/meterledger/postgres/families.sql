-- $1 families. Those that are there: id, shared.
SELECT f.id, f.shared FROM json_array_elements_text($1::json) AS k (id) JOIN reprise.meter_families f ON f.id = k.id
