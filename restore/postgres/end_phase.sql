-- $1 session, $2 phase.
UPDATE reprise.restore_phases SET finished_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE session = $1 AND phase = $2
