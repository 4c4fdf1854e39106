-- $1 sums: l line, m month, f family; n events, i individual, s shared, q qos, b blocked, u uncounted. Adds them.
INSERT INTO meter_monthly_snapshot (line, month, family, events, individual, shared, qos, blocked, uncounted)
SELECT l, m, f, n, i, s, q, b, u
FROM JSON_TABLE($1, '$[*]' COLUMNS (l VARCHAR(64) PATH '$.l', m INT PATH '$.m', f VARCHAR(64) PATH '$.f',
    n BIGINT PATH '$.n', i DECIMAL(39) PATH '$.i', s DECIMAL(39) PATH '$.s', q DECIMAL(39) PATH '$.q', b DECIMAL(39) PATH '$.b', u DECIMAL(39) PATH '$.u')) AS r
ON DUPLICATE KEY UPDATE
    events = meter_monthly_snapshot.events + r.n, individual = meter_monthly_snapshot.individual + r.i, shared = meter_monthly_snapshot.shared + r.s, qos = meter_monthly_snapshot.qos + r.q, blocked = meter_monthly_snapshot.blocked + r.b, uncounted = meter_monthly_snapshot.uncounted + r.u
