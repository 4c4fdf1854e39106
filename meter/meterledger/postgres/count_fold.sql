-- $1 fold, $2 rows that it took in.
UPDATE reprise.meter_folds SET folded = folded + $2 WHERE id = $1
