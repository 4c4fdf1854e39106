-- The $2 lines after $1.
SELECT id FROM meter_lines WHERE id > $1 ORDER BY id LIMIT $2
