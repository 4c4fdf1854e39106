-- The session that holds folds, or nothing.
SELECT session FROM reprise.meter_fold_hold WHERE id = 1
