-- The session that holds folds, or nothing.
SELECT session FROM meter_fold_hold WHERE id = 1
