-- $1 zone, $2 the day on which months begin. One that is there stays.
UPDATE meter_calendar SET zone = $1, anchor = $2 WHERE id = 1 AND anchor = 0
