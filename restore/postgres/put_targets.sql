-- $1 session, $2 phase, $3 targets: f from, t to, u units, p priority, a attempts. Leaves those that are there.
INSERT INTO reprise.restore_targets (session, phase, from_key, to_key, units, priority, attempts)
SELECT $1::bigint, $2::smallint, f, t, u, p, a FROM json_to_recordset($3::json) AS r (f text, t text, u bigint, p bigint, a integer)
ON CONFLICT DO NOTHING
