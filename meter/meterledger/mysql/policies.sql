-- $1 lines, of which the empty one is everybody. Their current policies: line, policy, version, settings.
SELECT STRAIGHT_JOIN p.line, p.policy, p.version, p.settings FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k
JOIN meter_policies p FORCE INDEX (PRIMARY) ON p.line = k.id
WHERE p.version = (SELECT MAX(n.version) FROM meter_policies n WHERE n.line = p.line AND n.policy = p.policy)
