-- $1 lines. Their snapshots from the month $2 on.
SELECT t.line, t.month, t.family, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted
FROM json_array_elements_text($1::json) AS k (id) JOIN reprise.meter_monthly_snapshot t ON t.line = k.id AND t.month >= $2
