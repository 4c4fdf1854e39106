-- $1 line.
SELECT id FROM reprise.meter_lines WHERE id = $1 FOR UPDATE
