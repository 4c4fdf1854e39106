-- Of every line that is in no family from $1 up to, not at, $2, or is or was in a family from $3 up to, not at, $4:
-- what its rows sum up to by day, all of them and those that are stamped, of days that were not purged.
SELECT STRAIGHT_JOIN d.line, d.day, d.app, d.family, d.month, COUNT(*), SUM(d.individual), SUM(d.shared), SUM(d.qos), SUM(d.blocked), SUM(d.uncounted),
    COUNT(d.fold), COALESCE(SUM(CASE WHEN d.fold IS NOT NULL THEN d.individual END), 0), COALESCE(SUM(CASE WHEN d.fold IS NOT NULL THEN d.shared END), 0), COALESCE(SUM(CASE WHEN d.fold IS NOT NULL THEN d.qos END), 0), COALESCE(SUM(CASE WHEN d.fold IS NOT NULL THEN d.blocked END), 0), COALESCE(SUM(CASE WHEN d.fold IS NOT NULL THEN d.uncounted END), 0)
FROM (
    SELECT m.line FROM meter_members m FORCE INDEX (meter_members_now) WHERE m.until_at = 9223372036854775807 AND m.family = '' AND m.line >= $1 AND m.line < $2
    UNION
    SELECT m.line FROM meter_members m FORCE INDEX (meter_members_ever) WHERE m.family > '' AND m.family >= $3 AND m.family < $4
) AS u
JOIN meter_done d FORCE INDEX (meter_done_event) ON d.line = u.line
WHERE d.day > (SELECT g.purged FROM meter_generation g WHERE g.id = 1)
GROUP BY d.line, d.day, d.app, d.family, d.month
