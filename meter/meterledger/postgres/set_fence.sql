-- $1 epoch.
UPDATE reprise.meter_fence SET epoch = $1 WHERE id = 1
