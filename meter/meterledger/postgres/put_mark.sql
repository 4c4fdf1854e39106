-- $1 an id that no event has. A row of the inbox that is no event's.
INSERT INTO reprise.meter_inbox (line, event_id, digest, event, received_at, available_at, worker) VALUES ('', $1, '', '', 0, 9223372036854775807, '')
