-- $1 changes: o owner, g generation, n how many, v the highest version. Adds them.
INSERT INTO reprise.meter_folded_changes AS t (owner, generation, changes, highest)
SELECT o, g, n, v FROM json_to_recordset($1::json) AS r (o text, g text, n bigint, v bigint)
ON CONFLICT (owner, generation) DO UPDATE SET changes = t.changes + excluded.changes, highest = greatest(t.highest, excluded.highest)
