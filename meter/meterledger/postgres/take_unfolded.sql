-- $1 events: l line, e event. Their rows, locked, if no fold has taken them in. Rows that another fold holds are left out.
SELECT d.line, d.event_id, d.app, d.bytes, d.occurred_at, d.individual, d.shared, d.qos, d.blocked, d.uncounted, d.why, d.speed,
    d.day, d.month, d.family, d.generation, d.line_version, d.family_version, d.recorded_at, coalesce(d.fold, 0)
FROM json_to_recordset($1::json) AS r (l text, e text)
CROSS JOIN LATERAL (
    SELECT * FROM reprise.meter_done d WHERE d.line = r.l AND d.event_id = r.e AND coalesce(d.fold, 0) = 0 FOR UPDATE SKIP LOCKED
) AS d
