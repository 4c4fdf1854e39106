-- Up to $3 rows of days up to $2 that no fold has taken in, of lines from $1 to $4, in their order. Rows that another fold holds are left out.
SELECT d.line, d.event_id, d.app, d.bytes, d.occurred_at, d.individual, d.shared, d.qos, d.blocked, d.uncounted, d.why, d.speed,
    d.day, d.month, d.family, d.generation, d.line_version, d.family_version, d.recorded_at, coalesce(d.fold, 0)
FROM meter_done d FORCE INDEX (meter_done_unfolded) WHERE d.fold IS NULL AND d.line BETWEEN $1 AND $4 AND d.day <= $2
ORDER BY d.line, d.day LIMIT $3 FOR UPDATE SKIP LOCKED
