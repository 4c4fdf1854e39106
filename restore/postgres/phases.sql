-- $1 session. Its phases, verification last.
SELECT phase, name, expected, listed, complete, targets, units, started_at, finished_at FROM reprise.restore_phases WHERE session = $1 ORDER BY phase
