-- $1 lines: k id, f family. Puts those that are in no family, nor in none, into theirs.
INSERT INTO reprise.meter_members (line, family, from_at)
SELECT k, coalesce(f, ''), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM json_to_recordset($1::json) AS r (k text, f text) ORDER BY k COLLATE "C"
ON CONFLICT (line, until_at) DO NOTHING
