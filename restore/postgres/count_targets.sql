-- $1 session, $2 phase, $3 generation, $4 microseconds. Targets, of them pending, processing, retryable, done and failed; units, of them done, skipped and failed; findings; units of
-- the last microseconds.
SELECT coalesce(sum(1), 0)::bigint,
    coalesce(sum(1) FILTER (WHERE state = 'pending'), 0)::bigint,
    coalesce(sum(1) FILTER (WHERE state = 'processing'), 0)::bigint,
    coalesce(sum(1) FILTER (WHERE state = 'retryable'), 0)::bigint,
    coalesce(sum(1) FILTER (WHERE state = 'done' AND generation = $3), 0)::bigint,
    coalesce(sum(1) FILTER (WHERE state = 'failed' AND generation = $3), 0)::bigint,
    coalesce(sum(units), 0)::bigint,
    coalesce(sum(units_done) FILTER (WHERE state = 'done' AND generation = $3), 0)::bigint,
    coalesce(sum(units_skipped) FILTER (WHERE state = 'done' AND generation = $3), 0)::bigint,
    coalesce(sum(units) FILTER (WHERE state = 'failed' AND generation = $3), 0)::bigint,
    coalesce(sum(found) FILTER (WHERE state = 'done' AND generation = $3), 0)::bigint,
    coalesce(sum(units_done + units_skipped) FILTER (WHERE state = 'done' AND generation = $3 AND settled_at >= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - $4), 0)::bigint
FROM reprise.restore_targets WHERE session = $1 AND phase = $2
