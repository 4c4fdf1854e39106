-- $1 lines, of which the empty one is everybody. Their current policies: line, policy, version, settings.
SELECT p.line, p.policy, p.version, p.settings FROM json_array_elements_text($1::json) AS k (id)
JOIN reprise.meter_policies p ON p.line = k.id
WHERE p.version = (SELECT max(n.version) FROM reprise.meter_policies n WHERE n.line = p.line AND n.policy = p.policy)
