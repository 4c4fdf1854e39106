-- $1 session, $2 why.
UPDATE reprise.meter_fold_hold SET session = $1, why = $2, since = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE id = 1
