-- $1 families. The snapshots of all lines that were in them, from the month $2 on.
SELECT STRAIGHT_JOIN t.line, t.month, t.family, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted
FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k JOIN meter_monthly_snapshot t FORCE INDEX (meter_monthly_snapshot_family) ON t.family = k.id AND t.month >= $2
