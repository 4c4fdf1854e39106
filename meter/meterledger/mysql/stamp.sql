-- $1 events: l line, e event; $2 fold. Stamps their rows.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (l VARCHAR(64) PATH '$.l', e VARCHAR(128) PATH '$.e')) AS r
STRAIGHT_JOIN meter_done d FORCE INDEX (meter_done_event) ON d.line = r.l AND d.event_id = r.e
SET d.fold = $2 WHERE d.fold IS NULL
