-- Of every line that is in no family from $1 up to, not at, $2, or is or was in a family from $3 up to, not at, $4:
-- what it was granted by month, and what those families were: owner, month, individual, qos, shared.
SELECT STRAIGHT_JOIN CONCAT('l:', g.line), g.month, SUM(g.individual), SUM(g.qos), SUM(g.shared)
FROM (
    SELECT m.line FROM meter_members m FORCE INDEX (meter_members_now) WHERE m.until_at = 9223372036854775807 AND m.family = '' AND m.line >= $1 AND m.line < $2
    UNION
    SELECT m.line FROM meter_members m FORCE INDEX (meter_members_ever) WHERE m.family > '' AND m.family >= $3 AND m.family < $4
) AS u
JOIN meter_grants g FORCE INDEX (meter_grants_monthly) ON g.line = u.line AND g.family = ''
GROUP BY g.line, g.month
UNION ALL
SELECT CONCAT('f:', g.family), g.month, SUM(g.individual), SUM(g.qos), SUM(g.shared)
FROM meter_grants g FORCE INDEX (meter_grants_family) WHERE g.family > '' AND g.family >= $3 AND g.family < $4
GROUP BY g.family, g.month
