-- $1 lines. Up to $4 of their folded rows of days up to $3 that were recorded before $2: line, event.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT d.line, d.event_id FROM json_array_elements_text($1::json) AS k (id)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_done d WHERE d.line = k.id AND d.recorded_at < $2 AND d.day <= $3 AND d.fold IS NOT NULL OFFSET 0) AS d
LIMIT $4
