-- Of every line that is in no family from $1 up to, not at, $2, or is or was in a family from $3 up to, not at, $4:
-- its daily totals of days that were not purged.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT t.line, t.day, t.app, t.family, t.month, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted
FROM (
    SELECT m.line FROM reprise.meter_members m WHERE m.until_at = 9223372036854775807 AND m.family = '' AND m.line >= $1 AND m.line < $2
    UNION
    SELECT m.line FROM reprise.meter_members m WHERE m.family <> '' AND m.family >= $3 AND m.family < $4
) AS u
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_daily_app_total t WHERE t.line = u.line AND t.day > (SELECT g.purged FROM reprise.meter_generation g WHERE g.id = 1) OFFSET 0) AS t
