-- $1 session, $2 phase, $3 generation, $4 microseconds. Targets, of them pending, processing, retryable, done and failed; units, of them done, skipped and failed; findings; units of
-- the last microseconds.
SELECT CAST(coalesce(sum(1), 0) AS SIGNED),
    CAST(coalesce(sum(IF(state = 'pending', 1, 0)), 0) AS SIGNED),
    CAST(coalesce(sum(IF(state = 'processing', 1, 0)), 0) AS SIGNED),
    CAST(coalesce(sum(IF(state = 'retryable', 1, 0)), 0) AS SIGNED),
    CAST(coalesce(sum(IF(state = 'done' AND generation = $3, 1, 0)), 0) AS SIGNED),
    CAST(coalesce(sum(IF(state = 'failed' AND generation = $3, 1, 0)), 0) AS SIGNED),
    CAST(coalesce(sum(units), 0) AS SIGNED),
    CAST(coalesce(sum(IF(state = 'done' AND generation = $3, units_done, 0)), 0) AS SIGNED),
    CAST(coalesce(sum(IF(state = 'done' AND generation = $3, units_skipped, 0)), 0) AS SIGNED),
    CAST(coalesce(sum(IF(state = 'failed' AND generation = $3, units, 0)), 0) AS SIGNED),
    CAST(coalesce(sum(IF(state = 'done' AND generation = $3, found, 0)), 0) AS SIGNED),
    CAST(coalesce(sum(IF(state = 'done' AND generation = $3 AND settled_at >= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) - $4, units_done + units_skipped, 0)), 0) AS SIGNED)
FROM restore_targets WHERE session = $1 AND phase = $2
