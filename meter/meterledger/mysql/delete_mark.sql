-- $1 its id. Removes it.
DELETE FROM meter_inbox WHERE line = '' AND event_id = $1 AND digest = REPEAT('m', 32)
