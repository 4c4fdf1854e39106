-- $1 lines. Those that are there: id, family, individual, qos.
SELECT l.id, m.family, l.individual, l.qos FROM json_array_elements_text($1::json) AS k (id)
JOIN reprise.meter_lines l ON l.id = k.id
JOIN reprise.meter_members m ON m.line = l.id AND m.until_at = 9223372036854775807
