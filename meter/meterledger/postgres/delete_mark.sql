-- $1 its id. Removes it.
DELETE FROM reprise.meter_inbox WHERE line = '' AND event_id = $1 AND digest = ''
