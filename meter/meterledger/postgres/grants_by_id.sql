-- $1 ids. Those grants.
SELECT g.id, g.kind, g.line, g.family, g.month, g.individual, g.qos, g.shared, g.made_at, coalesce(g.generation, ''), coalesce(g.version, 0) FROM json_array_elements_text($1::json) AS k (id) JOIN reprise.meter_grants g ON g.id = k.id
