-- $1 id. The grant of this id.
SELECT g.id, g.kind, g.line, g.family, g.month, g.individual, g.qos, g.shared, g.made_at, coalesce(g.generation, ''), coalesce(g.version, 0) FROM reprise.meter_grants g WHERE g.id = $1
