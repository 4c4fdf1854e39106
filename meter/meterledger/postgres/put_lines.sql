-- $1 lines: k id, f family, i individual, q qos. Adds them, and sets the plans of those that are there.
INSERT INTO reprise.meter_lines (id, individual, qos, added_at)
SELECT DISTINCT ON (k COLLATE "C") k, i, q, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM json_to_recordset($1::json) AS r (k text, i bigint, q bigint) ORDER BY k COLLATE "C"
ON CONFLICT (id) DO UPDATE SET individual = excluded.individual, qos = excluded.qos
