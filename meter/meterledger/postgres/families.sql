-- $1 families. Those that are there: id, shared.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT f.id, f.shared FROM json_array_elements_text($1::json) AS k (id)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_families f WHERE f.id = k.id OFFSET 0) AS f
