-- Of every line that is in no family from $1 up to, not at, $2, or is or was in a family from $3 up to, not at, $4:
-- what days sum up to by month of which rows were purged: their daily totals, which stand for rows that are stamped, and rows that are not.
-- In parts that are to be summed up.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT d.line, d.month, d.family, count(*), sum(d.individual), sum(d.shared), sum(d.qos), sum(d.blocked), sum(d.uncounted),
    0, 0, 0, 0, 0, 0
FROM (
    SELECT m.line FROM reprise.meter_members m WHERE m.until_at = 9223372036854775807 AND m.family = '' AND m.line >= $1 AND m.line < $2
    UNION
    SELECT m.line FROM reprise.meter_members m WHERE m.family <> '' AND m.family >= $3 AND m.family < $4
) AS u
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_done d WHERE d.line = u.line AND d.fold IS NULL AND d.day <= (SELECT g.purged FROM reprise.meter_generation g WHERE g.id = 1) OFFSET 0) AS d
GROUP BY d.line, d.month, d.family
UNION ALL
SELECT t.line, t.month, t.family, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted
FROM (
    SELECT m.line FROM reprise.meter_members m WHERE m.until_at = 9223372036854775807 AND m.family = '' AND m.line >= $1 AND m.line < $2
    UNION
    SELECT m.line FROM reprise.meter_members m WHERE m.family <> '' AND m.family >= $3 AND m.family < $4
) AS u
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_daily_app_total t WHERE t.line = u.line AND t.day <= (SELECT g.purged FROM reprise.meter_generation g WHERE g.id = 1) OFFSET 0) AS t
