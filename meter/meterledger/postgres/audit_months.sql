-- Of every line that is in no family from $1 up to, not at, $2, or is or was in a family from $3 up to, not at, $4:
-- what its rows sum up to by month, all of them and those that are stamped. Of days that were purged the daily totals stand for
-- stamped rows. In parts that are to be summed up.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT d.line, d.month, d.family, count(*), sum(d.individual), sum(d.shared), sum(d.qos), sum(d.blocked), sum(d.uncounted),
    count(d.fold), coalesce(sum(d.individual) FILTER (WHERE d.fold IS NOT NULL), 0), coalesce(sum(d.shared) FILTER (WHERE d.fold IS NOT NULL), 0), coalesce(sum(d.qos) FILTER (WHERE d.fold IS NOT NULL), 0), coalesce(sum(d.blocked) FILTER (WHERE d.fold IS NOT NULL), 0), coalesce(sum(d.uncounted) FILTER (WHERE d.fold IS NOT NULL), 0)
FROM (
    SELECT m.line FROM reprise.meter_members m WHERE m.until_at = 9223372036854775807 AND m.family = '' AND m.line >= $1 AND m.line < $2
    UNION
    SELECT m.line FROM reprise.meter_members m WHERE m.family <> '' AND m.family >= $3 AND m.family < $4
) AS u
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_done d WHERE d.line = u.line AND (d.day > (SELECT g.purged FROM reprise.meter_generation g WHERE g.id = 1) OR d.fold IS NULL) OFFSET 0) AS d
GROUP BY d.line, d.month, d.family
UNION ALL
SELECT t.line, t.month, t.family, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted
FROM (
    SELECT m.line FROM reprise.meter_members m WHERE m.until_at = 9223372036854775807 AND m.family = '' AND m.line >= $1 AND m.line < $2
    UNION
    SELECT m.line FROM reprise.meter_members m WHERE m.family <> '' AND m.family >= $3 AND m.family < $4
) AS u
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_daily_app_total t WHERE t.line = u.line AND t.day <= (SELECT g.purged FROM reprise.meter_generation g WHERE g.id = 1) OFFSET 0) AS t
