-- $1 lines. Their daily totals from the day $2 on.
SELECT STRAIGHT_JOIN t.line, t.day, t.app, t.family, t.month, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted
FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k JOIN meter_daily_app_total t FORCE INDEX (PRIMARY) ON t.line = k.id AND t.day >= $2
