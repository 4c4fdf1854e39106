-- $1 retention, $2 tolerance, in microseconds. One that is there stays.
UPDATE meter_horizon SET retention = $1, tolerance = $2 WHERE id = 1 AND retention = 0
