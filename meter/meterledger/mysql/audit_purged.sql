-- Of every line that is in no family from $1 up to, not at, $2, or is or was in a family from $3 up to, not at, $4:
-- what days sum up to by month of which rows were purged: their daily totals, which stand for rows that are stamped, and rows that are not.
-- In parts that are to be summed up.
SELECT STRAIGHT_JOIN d.line, d.month, d.family, COUNT(*), SUM(d.individual), SUM(d.shared), SUM(d.qos), SUM(d.blocked), SUM(d.uncounted),
    0, 0, 0, 0, 0, 0
FROM (
    SELECT m.line FROM meter_members m FORCE INDEX (meter_members_now) WHERE m.until_at = 9223372036854775807 AND m.family = '' AND m.line >= $1 AND m.line < $2
    UNION
    SELECT m.line FROM meter_members m FORCE INDEX (meter_members_ever) WHERE m.family > '' AND m.family >= $3 AND m.family < $4
) AS u
JOIN meter_done d FORCE INDEX (meter_done_unfolded) ON d.line = u.line
WHERE d.fold IS NULL AND d.day <= (SELECT g.purged FROM meter_generation g WHERE g.id = 1)
GROUP BY d.line, d.month, d.family
UNION ALL
SELECT STRAIGHT_JOIN t.line, t.month, t.family, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted
FROM (
    SELECT m.line FROM meter_members m FORCE INDEX (meter_members_now) WHERE m.until_at = 9223372036854775807 AND m.family = '' AND m.line >= $1 AND m.line < $2
    UNION
    SELECT m.line FROM meter_members m FORCE INDEX (meter_members_ever) WHERE m.family > '' AND m.family >= $3 AND m.family < $4
) AS u
JOIN meter_daily_app_total t FORCE INDEX (PRIMARY) ON t.line = u.line AND t.day <= (SELECT g.purged FROM meter_generation g WHERE g.id = 1)
