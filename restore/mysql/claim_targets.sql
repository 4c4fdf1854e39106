-- $1 session, $2 phase, $3 how many. Targets that may be taken, in the order in which they are to be. Those that another takes are left out.
SELECT id, from_key, to_key, units, priority, attempts FROM restore_targets FORCE INDEX (restore_targets_claim)
WHERE session = $1 AND phase = $2 AND takeable = TRUE AND available_at <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))
ORDER BY priority, id LIMIT $3 FOR UPDATE SKIP LOCKED
