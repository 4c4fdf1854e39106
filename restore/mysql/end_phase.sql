-- $1 session, $2 phase.
UPDATE restore_phases SET finished_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) WHERE session = $1 AND phase = $2
