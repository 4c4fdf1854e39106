-- $1 families. Their grants of months from $2 to $3.
SELECT STRAIGHT_JOIN g.id, g.kind, g.line, g.family, g.month, g.individual, g.qos, g.shared, g.made_at, coalesce(g.generation, ''), coalesce(g.version, 0) FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k JOIN meter_grants g FORCE INDEX (meter_grants_family) ON g.family = k.id AND g.line = '' AND g.month BETWEEN $2 AND $3
