-- Keeps a restore from beginning until the transaction ends.
SELECT id FROM meter_fold_hold WHERE id = 1 LOCK IN SHARE MODE
