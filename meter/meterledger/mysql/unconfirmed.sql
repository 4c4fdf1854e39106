-- The $2 grants after the id $1 that are not known to be in Redis.
SELECT g.id, g.kind, g.line, g.family, g.month, g.individual, g.qos, g.shared, g.made_at, coalesce(g.generation, ''), coalesce(g.version, 0) FROM meter_grants g WHERE g.generation IS NULL AND g.id > $1 ORDER BY g.id LIMIT $2
