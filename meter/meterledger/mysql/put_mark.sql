-- $1 an id that no event has. A row of the inbox that is no event's.
INSERT INTO meter_inbox (line, event_id, digest, event, received_at, available_at, worker) VALUES ('', $1, REPEAT('m', 32), '', 0, 9223372036854775807, '')
