-- The $2 lines after $1 that have no monthly grant of month $3.
SELECT STRAIGHT_JOIN l.id FROM meter_lines l LEFT JOIN meter_grants g FORCE INDEX (meter_grants_monthly) ON g.line = l.id AND g.family = '' AND g.month = $3 AND g.monthly = 1
WHERE l.id > $1 AND g.id IS NULL ORDER BY l.id LIMIT $2
