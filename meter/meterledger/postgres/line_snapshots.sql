-- $1 lines. Their snapshots from the month $2 on.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT t.line, t.month, t.family, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted
FROM json_array_elements_text($1::json) AS k (id)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_monthly_snapshot t WHERE t.line = k.id AND t.month >= $2 OFFSET 0) AS t
