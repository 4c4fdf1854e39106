-- $1 line, $2 family, $3 month. The owner's grants of the month.
SELECT g.id, g.kind, g.line, g.family, g.month, g.individual, g.qos, g.shared, g.made_at, coalesce(g.generation, ''), coalesce(g.version, 0) FROM reprise.meter_grants g WHERE g.line = $1 AND g.family = $2 AND g.month = $3 AND g.line <> ''
UNION ALL
SELECT g.id, g.kind, g.line, g.family, g.month, g.individual, g.qos, g.shared, g.made_at, coalesce(g.generation, ''), coalesce(g.version, 0) FROM reprise.meter_grants g WHERE g.family = $2 AND g.line = $1 AND g.month = $3 AND g.family <> ''
