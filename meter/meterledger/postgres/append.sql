-- $1 rows, $2 generation. Adds those whose events are not there.
-- l line, e event, a app, n bytes, t occurred at, h digest; i individual, s shared, q qos, b blocked, u uncounted;
-- w why, p speed, d day, m month, f family, v line version, x family version.
INSERT INTO reprise.meter_done (
    line, event_id, app, bytes, occurred_at, digest, individual, shared, qos, blocked, uncounted,
    why, speed, day, month, family, generation, line_version, family_version, recorded_at)
SELECT l, e, a, n, t, decode(h, 'hex'), i, s, q, b, u, w, p, d, m, f, $2, v, x, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint
FROM json_to_recordset($1::json) AS r (
    l text, e text, a text, n bigint, t bigint, h text, i bigint, s bigint, q bigint, b bigint, u bigint,
    w text, p bigint, d integer, m integer, f text, v bigint, x bigint)
ON CONFLICT (line, event_id) DO NOTHING
