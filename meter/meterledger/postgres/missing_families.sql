-- The $2 families after $1 that have no monthly grant of month $3. One that has it is looked up in the index by itself (OFFSET 0 keeps the planner to it).
SELECT f.id FROM reprise.meter_families f WHERE f.id > $1
AND NOT EXISTS (SELECT 1 FROM reprise.meter_grants g WHERE g.line = '' AND g.family = f.id AND g.month = $3 AND g.kind = 'monthly' OFFSET 0)
ORDER BY f.id LIMIT $2
