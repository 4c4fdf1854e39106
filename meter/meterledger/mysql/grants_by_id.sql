-- $1 ids. Those grants.
SELECT STRAIGHT_JOIN g.id, g.kind, g.line, g.family, g.month, g.individual, g.qos, g.shared, g.made_at, coalesce(g.generation, ''), coalesce(g.version, 0) FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k JOIN meter_grants g FORCE INDEX (PRIMARY) ON g.id = k.id
