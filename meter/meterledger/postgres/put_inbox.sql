-- $1 events: l line, e event, h digest, j canonical JSON. Leaves out those that are there.
INSERT INTO reprise.meter_inbox (line, event_id, digest, event, received_at, available_at, worker)
SELECT l, e, decode(h, 'hex'), j, at, at, ''
FROM json_to_recordset($1::json) AS r (l text, e text, h text, j text), (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at) AS n
ON CONFLICT DO NOTHING
