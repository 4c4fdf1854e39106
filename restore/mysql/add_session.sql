-- $1 plan, $2 digest, $3 configuration, $4 program, $5 who, $6 why, $7 failed at, $8 phases, $9 epoch, $10 rate, $11 batch. Does nothing if one is live.
INSERT INTO restore_sessions (plan, digest, configuration, program, who, why, failed_at, started_at, state, phases, epoch, rate, batch, reason, trouble)
VALUES ($1, $2, $3, $4, $5, $6, $7, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)), 'closing', $8, $9, $10, $11, '', '')
ON DUPLICATE KEY UPDATE started_at = restore_sessions.started_at
