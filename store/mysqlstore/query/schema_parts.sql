-- Which tables of the latest schema are missing, in a list, and how many are there.
SELECT COALESCE(GROUP_CONCAT(CASE WHEN there.table_name IS NULL THEN wanted.name END ORDER BY wanted.name SEPARATOR ', '), ''), COUNT(there.table_name)
FROM (SELECT 'reprise_record' AS name UNION ALL SELECT 'reprise_secret') AS wanted
LEFT JOIN information_schema.tables AS there ON there.table_schema = DATABASE() AND there.table_type = 'BASE TABLE' AND there.table_name = wanted.name
