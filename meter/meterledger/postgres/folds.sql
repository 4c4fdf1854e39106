-- The latest $1 folds: number, last day, rows, began, ended (0: it did not).
SELECT id, through, folded, started_at, coalesce(ended_at, 0) FROM reprise.meter_folds ORDER BY id DESC LIMIT $1
