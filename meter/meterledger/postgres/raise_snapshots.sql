-- $1 sums: l line, m month, f family; n events, i individual, s shared, q qos, b blocked, u uncounted. Adds them.
INSERT INTO reprise.meter_monthly_snapshot AS t (line, month, family, events, individual, shared, qos, blocked, uncounted)
SELECT l, m, f, n, i, s, q, b, u FROM json_to_recordset($1::json) AS r (l text, m integer, f text, n bigint, i numeric, s numeric, q numeric, b numeric, u numeric)
ON CONFLICT (line, month, family) DO UPDATE SET
    events = t.events + excluded.events, individual = t.individual + excluded.individual, shared = t.shared + excluded.shared, qos = t.qos + excluded.qos, blocked = t.blocked + excluded.blocked, uncounted = t.uncounted + excluded.uncounted
