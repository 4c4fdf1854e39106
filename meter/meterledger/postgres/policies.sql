-- $1 lines, of which the empty one is everybody. Their current policies: line, policy, version, settings.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT p.line, p.policy, p.version, p.settings FROM json_array_elements_text($1::json) AS k (id)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_policies p WHERE p.line = k.id OFFSET 0) AS p
WHERE p.version = (SELECT max(n.version) FROM reprise.meter_policies n WHERE n.line = p.line AND n.policy = p.policy)
