-- $1 events: l line, e event. Removes their rows if they are folded.
DELETE FROM reprise.meter_done d
USING json_to_recordset($1::json) AS r (l text, e text) WHERE d.line = r.l AND d.event_id = r.e AND coalesce(d.fold, 0) > 0
