-- $1 session, $2 phase.
UPDATE reprise.restore_phases SET started_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, finished_at = 0 WHERE session = $1 AND phase = $2
