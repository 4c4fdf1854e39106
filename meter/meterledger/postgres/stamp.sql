-- $1 events: l line, e event; $2 fold. Stamps their rows.
UPDATE reprise.meter_done d SET fold = $2
FROM json_to_recordset($1::json) AS r (l text, e text) WHERE d.line = r.l AND d.event_id = r.e AND coalesce(d.fold, 0) = 0
