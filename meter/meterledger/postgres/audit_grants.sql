-- Of every line that is in no family from $1 up to, not at, $2, or is or was in a family from $3 up to, not at, $4:
-- what it was granted by month, and what those families were: owner, month, individual, qos, shared.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT 'l:' || g.line, g.month, sum(g.individual), sum(g.qos), sum(g.shared)
FROM (
    SELECT m.line FROM reprise.meter_members m WHERE m.until_at = 9223372036854775807 AND m.family = '' AND m.line >= $1 AND m.line < $2
    UNION
    SELECT m.line FROM reprise.meter_members m WHERE m.family <> '' AND m.family >= $3 AND m.family < $4
) AS u
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_grants g WHERE g.line = u.line AND g.line <> '' OFFSET 0) AS g
GROUP BY g.line, g.month
UNION ALL
SELECT 'f:' || g.family, g.month, sum(g.individual), sum(g.qos), sum(g.shared)
FROM reprise.meter_grants g WHERE g.family <> '' AND g.family >= $3 AND g.family < $4
GROUP BY g.family, g.month
