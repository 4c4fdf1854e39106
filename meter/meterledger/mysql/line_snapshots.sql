-- $1 lines. Their snapshots from the month $2 on.
SELECT STRAIGHT_JOIN t.line, t.month, t.family, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted
FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k JOIN meter_monthly_snapshot t FORCE INDEX (PRIMARY) ON t.line = k.id AND t.month >= $2
