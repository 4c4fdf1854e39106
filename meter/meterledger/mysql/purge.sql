-- $1 events: l line, e event. Removes their rows if they are folded.
DELETE d FROM JSON_TABLE($1, '$[*]' COLUMNS (l VARCHAR(64) PATH '$.l', e VARCHAR(128) PATH '$.e')) AS r
STRAIGHT_JOIN meter_done d FORCE INDEX (meter_done_event) ON d.line = r.l AND d.event_id = r.e
WHERE d.fold IS NOT NULL
