-- The $2 lines after $1 that have no monthly grant of month $3. One that has it is looked up in the index by itself (OFFSET 0 keeps the planner to it).
SELECT l.id FROM reprise.meter_lines l WHERE l.id > $1
AND NOT EXISTS (SELECT 1 FROM reprise.meter_grants g WHERE g.line = l.id AND g.family = '' AND g.month = $3 AND g.kind = 'monthly' OFFSET 0)
ORDER BY l.id LIMIT $2
