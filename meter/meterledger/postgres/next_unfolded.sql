-- Up to $3 events of days up to $2 whose rows no fold has taken in, of lines from $1 to $4, in their order. Nothing is locked: on the way are the
-- rows of later days, and of a million that MariaDB locks and lets go again its memory is full.
SELECT line, event_id FROM reprise.meter_done WHERE fold IS NULL AND line BETWEEN $1 AND $4 AND day <= $2
ORDER BY line, day LIMIT $3
