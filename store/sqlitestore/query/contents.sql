-- How many tables say which schema of this package there is (1 or 0), which of its other tables are missing, in a list, how many of them are
-- there, and how many things there are at all.
SELECT count(*) FILTER (WHERE type = 'table' AND name = 'reprise_schema'),
    (SELECT coalesce(group_concat(wanted.name, ', '), '') FROM (SELECT 'reprise_record' AS name UNION ALL SELECT 'reprise_secret') AS wanted
        WHERE NOT EXISTS (SELECT 1 FROM sqlite_schema AS there WHERE there.type = 'table' AND there.name = wanted.name)),
    count(*) FILTER (WHERE type = 'table' AND name IN ('reprise_record', 'reprise_secret')),
    count(*)
FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'
