-- $1 lines, $2 families, $3 generation, $4 first month, $5 last month. What is held of the changes of each, in parts that are to be summed up:
-- owner, changes, highest version, rows that are not folded, grants of those months that are not confirmed.
SELECT STRAIGHT_JOIN c.owner, c.changes, c.highest, 0, 0
FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(64) PATH '$')) AS l
JOIN meter_folded_changes c FORCE INDEX (PRIMARY) ON c.owner = CAST(CONCAT('l:', l.id) AS BINARY) AND c.generation = $3
UNION ALL
SELECT STRAIGHT_JOIN c.owner, c.changes, c.highest, 0, 0
FROM JSON_TABLE($2, '$[*]' COLUMNS (id VARCHAR(64) PATH '$')) AS f
JOIN meter_folded_changes c FORCE INDEX (PRIMARY) ON c.owner = CAST(CONCAT('f:', f.id) AS BINARY) AND c.generation = $3
UNION ALL
SELECT STRAIGHT_JOIN CONCAT('l:', d.line), COALESCE(SUM(d.generation = $3), 0), COALESCE(MAX(CASE WHEN d.generation = $3 THEN d.line_version END), 0), COUNT(*), 0
FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(64) PATH '$')) AS l
JOIN meter_done d FORCE INDEX (meter_done_unfolded) ON d.fold IS NULL AND d.line = l.id
GROUP BY d.line
UNION ALL
SELECT STRAIGHT_JOIN CONCAT('f:', d.family), COALESCE(SUM(d.generation = $3), 0), COALESCE(MAX(CASE WHEN d.generation = $3 THEN d.family_version END), 0), COUNT(*), 0
FROM JSON_TABLE($2, '$[*]' COLUMNS (id VARCHAR(64) PATH '$')) AS f
JOIN meter_members m FORCE INDEX (meter_members_now) ON m.until_at = 9223372036854775807 AND m.family = f.id
JOIN meter_done d FORCE INDEX (meter_done_unfolded) ON d.fold IS NULL AND d.line = m.line AND d.family = m.family AND d.family_version > 0
GROUP BY d.family
UNION ALL
SELECT STRAIGHT_JOIN CONCAT('l:', g.line), COALESCE(SUM(g.generation = $3 AND g.version > 0), 0), COALESCE(MAX(CASE WHEN g.generation = $3 THEN g.version END), 0), 0, SUM(g.generation IS NULL AND g.month BETWEEN $4 AND $5)
FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(64) PATH '$')) AS l
JOIN meter_grants g FORCE INDEX (meter_grants_monthly) ON g.line = l.id AND g.family = ''
GROUP BY g.line
UNION ALL
SELECT STRAIGHT_JOIN CONCAT('f:', g.family), COALESCE(SUM(g.generation = $3 AND g.version > 0), 0), COALESCE(MAX(CASE WHEN g.generation = $3 THEN g.version END), 0), 0, SUM(g.generation IS NULL AND g.month BETWEEN $4 AND $5)
FROM JSON_TABLE($2, '$[*]' COLUMNS (id VARCHAR(64) PATH '$')) AS f
JOIN meter_grants g FORCE INDEX (meter_grants_family) ON g.family = f.id AND g.line = ''
GROUP BY g.family
