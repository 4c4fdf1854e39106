-- The $2 families after $1 that have no monthly grant of month $3.
SELECT STRAIGHT_JOIN f.id FROM meter_families f LEFT JOIN meter_grants g FORCE INDEX (meter_grants_monthly) ON g.line = '' AND g.family = f.id AND g.month = $3 AND g.monthly = 1
WHERE f.id > $1 AND g.id IS NULL ORDER BY f.id LIMIT $2
