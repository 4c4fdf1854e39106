-- Keeps a restore from beginning until the transaction ends.
LOCK TABLE reprise.meter_fold_hold IN ROW SHARE MODE
