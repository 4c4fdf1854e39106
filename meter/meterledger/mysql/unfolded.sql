-- $1 lines. Their rows of months from $2 on that no fold has taken in.
SELECT STRAIGHT_JOIN d.line, d.event_id, d.app, d.bytes, d.occurred_at, d.individual, d.shared, d.qos, d.blocked, d.uncounted, d.why, d.speed,
    d.day, d.month, d.family, d.generation, d.line_version, d.family_version, d.recorded_at, coalesce(d.fold, 0)
FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k JOIN meter_done d FORCE INDEX (meter_done_unfolded) ON d.fold IS NULL AND d.line = k.id AND d.month >= $2
