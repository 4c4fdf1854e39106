-- The $3 grants of month $1 after the id $2 that are not known to be in Redis.
SELECT g.id, g.kind, g.line, g.family, g.month, g.individual, g.qos, g.shared, g.made_at, coalesce(g.generation, ''), coalesce(g.version, 0) FROM meter_grants g FORCE INDEX (meter_grants_unconfirmed) WHERE g.generation IS NULL AND g.month = $1 AND g.id > $2 ORDER BY g.id LIMIT $3
