-- $1 session, $2 phase.
UPDATE restore_phases SET started_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)), finished_at = 0 WHERE session = $1 AND phase = $2
