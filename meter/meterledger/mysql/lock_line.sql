-- $1 line.
SELECT id FROM meter_lines WHERE id = $1 FOR UPDATE
