-- $1 sums: l line, d day, a app, f family, m month; n events, i individual, s shared, q qos, b blocked, u uncounted. Adds them.
INSERT INTO meter_daily_app_total (line, day, app, family, month, events, individual, shared, qos, blocked, uncounted)
SELECT l, d, a, f, m, n, i, s, q, b, u
FROM JSON_TABLE($1, '$[*]' COLUMNS (l VARCHAR(64) PATH '$.l', d INT PATH '$.d', a VARCHAR(64) PATH '$.a', f VARCHAR(64) PATH '$.f', m INT PATH '$.m',
    n BIGINT PATH '$.n', i DECIMAL(39) PATH '$.i', s DECIMAL(39) PATH '$.s', q DECIMAL(39) PATH '$.q', b DECIMAL(39) PATH '$.b', u DECIMAL(39) PATH '$.u')) AS r
ON DUPLICATE KEY UPDATE
    events = meter_daily_app_total.events + r.n, individual = meter_daily_app_total.individual + r.i, shared = meter_daily_app_total.shared + r.s, qos = meter_daily_app_total.qos + r.q, blocked = meter_daily_app_total.blocked + r.b, uncounted = meter_daily_app_total.uncounted + r.u
