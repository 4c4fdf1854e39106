-- $1 the last day. Returns the number of the fold.
INSERT INTO meter_folds (through, folded, started_at) VALUES ($1, 0, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
