-- $1 events: l line, e event, h digest, j canonical JSON. Leaves out those that are there.
INSERT INTO meter_inbox (line, event_id, digest, event, received_at, available_at, worker)
SELECT l, e, UNHEX(h), j, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), ''
FROM JSON_TABLE($1, '$[*]' COLUMNS (l VARCHAR(64) PATH '$.l', e VARCHAR(128) PATH '$.e', h CHAR(64) PATH '$.h', j VARCHAR(2000) PATH '$.j')) AS r
ON DUPLICATE KEY UPDATE received_at = meter_inbox.received_at
