-- $1 lines. Those that are there: id, family, individual, qos.
SELECT STRAIGHT_JOIN l.id, m.family, l.individual, l.qos FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k
JOIN meter_lines l ON l.id = k.id
JOIN meter_members m ON m.line = l.id AND m.until_at = 9223372036854775807
