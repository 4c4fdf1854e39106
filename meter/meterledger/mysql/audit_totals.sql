-- Of every line that is in no family from $1 up to, not at, $2, or is or was in a family from $3 up to, not at, $4:
-- its daily totals of days that were not purged.
SELECT STRAIGHT_JOIN t.line, t.day, t.app, t.family, t.month, t.events, t.individual, t.shared, t.qos, t.blocked, t.uncounted
FROM (
    SELECT m.line FROM meter_members m FORCE INDEX (meter_members_now) WHERE m.until_at = 9223372036854775807 AND m.family = '' AND m.line >= $1 AND m.line < $2
    UNION
    SELECT m.line FROM meter_members m FORCE INDEX (meter_members_ever) WHERE m.family > '' AND m.family >= $3 AND m.family < $4
) AS u
JOIN meter_daily_app_total t FORCE INDEX (PRIMARY) ON t.line = u.line AND t.day > (SELECT g.purged FROM meter_generation g WHERE g.id = 1)
