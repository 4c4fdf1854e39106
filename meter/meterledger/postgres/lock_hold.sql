-- Waits for all who share it, and keeps others out.
LOCK TABLE reprise.meter_fold_hold IN EXCLUSIVE MODE
