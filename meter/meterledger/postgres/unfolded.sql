-- $1 lines. Their rows of months from $2 on that no fold has taken in.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT d.line, d.event_id, d.app, d.bytes, d.occurred_at, d.individual, d.shared, d.qos, d.blocked, d.uncounted, d.why, d.speed,
    d.day, d.month, d.family, d.generation, d.line_version, d.family_version, d.recorded_at, coalesce(d.fold, 0)
FROM json_array_elements_text($1::json) AS k (id)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_done d WHERE d.line = k.id AND d.fold IS NULL AND d.month >= $2 OFFSET 0) AS d
