-- $1 lines, $2 families, $3 generation. What is held of the changes of each, in parts that are to be summed up:
-- owner, changes, highest version, rows that are not folded, grants that are not confirmed.
SELECT c.owner, c.changes, c.highest, 0, 0
FROM (SELECT 'l:' || l.id AS owner FROM json_array_elements_text($1::json) AS l (id)
    UNION ALL SELECT 'f:' || f.id FROM json_array_elements_text($2::json) AS f (id)) AS o
JOIN reprise.meter_folded_changes c ON c.owner = o.owner AND c.generation = $3
UNION ALL
SELECT 'l:' || l.id, count(*) FILTER (WHERE d.generation = $3), coalesce(max(d.line_version) FILTER (WHERE d.generation = $3), 0), count(*), 0
FROM json_array_elements_text($1::json) AS l (id)
JOIN reprise.meter_done d ON d.line = l.id AND d.fold IS NULL
GROUP BY l.id
UNION ALL
SELECT 'f:' || f.id, count(*) FILTER (WHERE d.generation = $3), coalesce(max(d.family_version) FILTER (WHERE d.generation = $3), 0), count(*), 0
FROM json_array_elements_text($2::json) AS f (id)
JOIN reprise.meter_members m ON m.family = f.id AND m.until_at = 9223372036854775807
JOIN reprise.meter_done d ON d.line = m.line AND d.fold IS NULL AND d.family = f.id AND d.family_version > 0
GROUP BY f.id
UNION ALL
SELECT 'l:' || l.id, count(*) FILTER (WHERE g.generation = $3 AND g.version > 0), coalesce(max(g.version) FILTER (WHERE g.generation = $3), 0), 0, count(*) FILTER (WHERE g.generation IS NULL)
FROM json_array_elements_text($1::json) AS l (id)
JOIN reprise.meter_grants g ON g.line = l.id AND g.line <> ''
GROUP BY l.id
UNION ALL
SELECT 'f:' || f.id, count(*) FILTER (WHERE g.generation = $3 AND g.version > 0), coalesce(max(g.version) FILTER (WHERE g.generation = $3), 0), 0, count(*) FILTER (WHERE g.generation IS NULL)
FROM json_array_elements_text($2::json) AS f (id)
JOIN reprise.meter_grants g ON g.family = f.id AND g.family <> ''
GROUP BY f.id
