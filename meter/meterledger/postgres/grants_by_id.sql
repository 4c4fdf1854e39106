-- $1 ids. Those grants.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT g.id, g.kind, g.line, g.family, g.month, g.individual, g.qos, g.shared, g.made_at, coalesce(g.generation, ''), coalesce(g.version, 0) FROM json_array_elements_text($1::json) AS k (id)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_grants g WHERE g.id = k.id OFFSET 0) AS g
