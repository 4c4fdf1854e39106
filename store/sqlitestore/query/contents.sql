-- How many tables say which schema of this package there is (1 or 0), and how many things there are at all.
SELECT count(*) FILTER (WHERE type = 'table' AND name = 'reprise_schema'), count(*)
FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'
