-- $1 retention, $2 tolerance, in microseconds.
UPDATE meter_horizon SET retention = $1, tolerance = $2 WHERE id = 1
