-- $1 session, which nobody else changes meanwhile.
SELECT id, plan, digest, configuration, program, who, why, failed_at, started_at, finished_at, state, phase, phases, round, generation, losses,
    paused, reason, trouble, epoch, fenced, owner, lease_until > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, heartbeat_at, rate, batch, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM reprise.restore_sessions WHERE id = $1 FOR UPDATE
