-- $1 families: k id, s shared. Adds them, and sets the plans of those that are there.
INSERT INTO reprise.meter_families (id, shared, added_at)
SELECT DISTINCT ON (k COLLATE "C") k, s, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM json_to_recordset($1::json) AS r (k text, s bigint) ORDER BY k COLLATE "C"
ON CONFLICT (id) DO UPDATE SET shared = excluded.shared
