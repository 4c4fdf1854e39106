-- $1 the last day. Returns the number of the fold.
INSERT INTO reprise.meter_folds (through, folded, started_at) VALUES ($1, 0, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) RETURNING id
