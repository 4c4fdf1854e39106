-- $1 lines. Up to $4 of their folded rows of days up to $3 that were recorded before $2: line, event.
SELECT STRAIGHT_JOIN d.line, d.event_id FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k
JOIN meter_done d FORCE INDEX (meter_done_recent) ON d.line = k.id AND d.recorded_at < $2
WHERE d.day <= $3 AND d.fold IS NOT NULL LIMIT $4
