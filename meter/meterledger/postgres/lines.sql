-- $1 lines. Those that are there: id, family, individual, qos.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT l.id, m.family, l.individual, l.qos FROM json_array_elements_text($1::json) AS k (id)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_lines l WHERE l.id = k.id OFFSET 0) AS l
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_members m WHERE m.line = l.id AND m.until_at = 9223372036854775807 OFFSET 0) AS m
