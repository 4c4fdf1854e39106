-- $1 lines, $2 families, $3 generation, $4 first month, $5 last month. What is held of the changes of each, in parts that are to be summed up:
-- owner, changes, highest version, rows that are not folded, grants of those months that are not confirmed.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT c.owner, c.changes, c.highest, 0, 0
FROM (SELECT 'l:' || l.id AS owner FROM json_array_elements_text($1::json) AS l (id)
    UNION ALL SELECT 'f:' || f.id FROM json_array_elements_text($2::json) AS f (id)) AS o
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_folded_changes c WHERE c.owner = o.owner AND c.generation = $3 OFFSET 0) AS c
UNION ALL
SELECT 'l:' || l.id, count(*) FILTER (WHERE d.generation = $3), coalesce(max(d.line_version) FILTER (WHERE d.generation = $3), 0), count(*), 0
FROM json_array_elements_text($1::json) AS l (id)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_done d WHERE d.line = l.id AND d.fold IS NULL OFFSET 0) AS d
GROUP BY l.id
UNION ALL
SELECT 'f:' || f.id, count(*) FILTER (WHERE d.generation = $3), coalesce(max(d.family_version) FILTER (WHERE d.generation = $3), 0), count(*), 0
FROM json_array_elements_text($2::json) AS f (id)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_members m WHERE m.family = f.id AND m.until_at = 9223372036854775807 OFFSET 0) AS m
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_done d WHERE d.line = m.line AND d.fold IS NULL AND d.family = f.id AND d.family_version > 0 OFFSET 0) AS d
GROUP BY f.id
UNION ALL
SELECT 'l:' || l.id, count(*) FILTER (WHERE g.generation = $3 AND g.version > 0), coalesce(max(g.version) FILTER (WHERE g.generation = $3), 0), 0, count(*) FILTER (WHERE g.generation IS NULL AND g.month BETWEEN $4 AND $5)
FROM json_array_elements_text($1::json) AS l (id)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_grants g WHERE g.line = l.id AND g.line <> '' OFFSET 0) AS g
GROUP BY l.id
UNION ALL
SELECT 'f:' || f.id, count(*) FILTER (WHERE g.generation = $3 AND g.version > 0), coalesce(max(g.version) FILTER (WHERE g.generation = $3), 0), 0, count(*) FILTER (WHERE g.generation IS NULL AND g.month BETWEEN $4 AND $5)
FROM json_array_elements_text($2::json) AS f (id)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_grants g WHERE g.family = f.id AND g.family <> '' OFFSET 0) AS g
GROUP BY f.id
