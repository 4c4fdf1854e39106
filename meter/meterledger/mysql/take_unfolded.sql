-- $1 events: l line, e event. Their rows, locked, if no fold has taken them in. Rows that another fold holds are left out.
-- The list is in a query of its own: MySQL refuses to lock what JSON_TABLE returns.
SELECT STRAIGHT_JOIN d.line, d.event_id, d.app, d.bytes, d.occurred_at, d.individual, d.shared, d.qos, d.blocked, d.uncounted, d.why, d.speed,
    d.day, d.month, d.family, d.generation, d.line_version, d.family_version, d.recorded_at, coalesce(d.fold, 0)
FROM (SELECT l, e FROM JSON_TABLE($1, '$[*]' COLUMNS (l VARCHAR(64) PATH '$.l', e VARCHAR(128) PATH '$.e')) AS j) AS r
JOIN meter_done d FORCE INDEX (meter_done_event) ON d.line = r.l AND d.event_id = r.e WHERE d.fold IS NULL FOR UPDATE SKIP LOCKED
