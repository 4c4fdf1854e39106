-- $1 epoch.
UPDATE meter_fence SET epoch = $1 WHERE id = 1
