-- $1 events: l line, e event. Their rows.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT d.line, d.event_id, d.app, d.bytes, d.occurred_at, d.individual, d.shared, d.qos, d.blocked, d.uncounted, d.why, d.speed,
    d.day, d.month, d.family, d.generation, d.line_version, d.family_version, d.recorded_at, coalesce(d.fold, 0)
FROM json_to_recordset($1::json) AS r (l text, e text)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_done d WHERE d.line = r.l AND d.event_id = r.e OFFSET 0) AS d
