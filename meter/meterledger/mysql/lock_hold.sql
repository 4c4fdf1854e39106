-- Waits for all who share it, and keeps others out.
SELECT id FROM meter_fold_hold WHERE id = 1 FOR UPDATE
