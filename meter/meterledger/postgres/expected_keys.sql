-- $1 first month, $2 last month, $3 first day, $4 last day. How many keys of each family follow from what is here: of allowances of lines, and of
-- families; of days of lines that used something, and of those of shared allowances; of months of shared allowances.
SELECT
    (SELECT count(*) FROM (SELECT DISTINCT g.line, g.month FROM reprise.meter_grants g WHERE g.line <> '' AND g.month BETWEEN $1 AND $2) AS a),
    (SELECT count(*) FROM (SELECT DISTINCT g.family, g.month FROM reprise.meter_grants g WHERE g.family <> '' AND g.month BETWEEN $1 AND $2) AS b),
    (SELECT count(*) FROM (
        SELECT t.line, t.day FROM reprise.meter_daily_app_total t WHERE t.day BETWEEN $3 AND $4 AND t.individual + t.shared + t.qos > 0
        UNION SELECT d.line, d.day FROM reprise.meter_done d WHERE d.fold IS NULL AND d.day BETWEEN $3 AND $4 AND (d.individual > 0 OR d.shared > 0 OR d.qos > 0)) AS c),
    (SELECT count(*) FROM (
        SELECT t.line, t.day, t.family FROM reprise.meter_daily_app_total t WHERE t.day BETWEEN $3 AND $4 AND t.shared > 0
        UNION SELECT d.line, d.day, d.family FROM reprise.meter_done d WHERE d.fold IS NULL AND d.day BETWEEN $3 AND $4 AND d.shared > 0) AS e
        JOIN reprise.meter_members m ON m.line = e.line AND m.family = e.family AND m.until_at = 9223372036854775807),
    (SELECT count(*) FROM (
        SELECT s.line, s.month, s.family FROM reprise.meter_monthly_snapshot s WHERE s.month BETWEEN $1 AND $2 AND s.shared > 0
        UNION SELECT d.line, d.month, d.family FROM reprise.meter_done d WHERE d.fold IS NULL AND d.month BETWEEN $1 AND $2 AND d.shared > 0) AS f
        JOIN reprise.meter_members m ON m.line = f.line AND m.family = f.family AND m.until_at = 9223372036854775807)
