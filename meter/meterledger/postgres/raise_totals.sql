-- $1 sums: l line, d day, a app, f family, m month; n events, i individual, s shared, q qos, b blocked, u uncounted. Adds them.
INSERT INTO reprise.meter_daily_app_total AS t (line, day, app, family, month, events, individual, shared, qos, blocked, uncounted)
SELECT l, d, a, f, m, n, i, s, q, b, u FROM json_to_recordset($1::json) AS r (l text, d integer, a text, f text, m integer, n bigint, i numeric, s numeric, q numeric, b numeric, u numeric)
ON CONFLICT (line, day, app, family, month) DO UPDATE SET
    events = t.events + excluded.events, individual = t.individual + excluded.individual, shared = t.shared + excluded.shared, qos = t.qos + excluded.qos, blocked = t.blocked + excluded.blocked, uncounted = t.uncounted + excluded.uncounted
