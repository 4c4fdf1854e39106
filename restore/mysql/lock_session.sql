-- $1 session, which nobody else changes meanwhile.
SELECT id, plan, digest, configuration, program, who, why, failed_at, started_at, finished_at, state, phase, phases, round, generation, losses,
    paused, reason, trouble, epoch, fenced, owner, lease_until > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)), heartbeat_at, rate, batch, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))
FROM restore_sessions WHERE id = $1 FOR UPDATE
