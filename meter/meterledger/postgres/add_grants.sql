-- $1 grants: k id, n kind, l line, f family, m month, i individual, q qos, s shared. Leaves out ids that are there.
INSERT INTO reprise.meter_grants (id, kind, line, family, month, individual, qos, shared, made_at)
SELECT k, n, l, f, m, i, q, s, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM json_to_recordset($1::json) AS r (k text, n text, l text, f text, m integer, i bigint, q bigint, s bigint)
ON CONFLICT (id) DO NOTHING
