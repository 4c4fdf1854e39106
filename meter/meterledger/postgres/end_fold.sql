-- $1 fold.
UPDATE reprise.meter_folds SET ended_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE id = $1
