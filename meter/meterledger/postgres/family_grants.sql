-- $1 families. Their grants of months from $2 to $3.
SELECT g.id, g.kind, g.line, g.family, g.month, g.individual, g.qos, g.shared, g.made_at, coalesce(g.generation, ''), coalesce(g.version, 0) FROM json_array_elements_text($1::json) AS k (id) JOIN reprise.meter_grants g ON g.family = k.id AND g.family <> '' AND g.month BETWEEN $2 AND $3
