-- $1 lines. Their daily totals from the day $2 on.
SELECT t.line, t.day, t.app, t.family, t.month, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted
FROM json_array_elements_text($1::json) AS k (id) JOIN reprise.meter_daily_app_total t ON t.line = k.id AND t.day >= $2
