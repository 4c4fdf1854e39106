-- $1 session, $2 why.
UPDATE meter_fold_hold SET session = $1, why = $2, since = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) WHERE id = 1
