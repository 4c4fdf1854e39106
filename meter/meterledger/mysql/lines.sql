-- $1 lines. Those that are there: id, family, individual, qos.
SELECT STRAIGHT_JOIN l.id, m.family, l.individual, l.qos FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k
JOIN meter_lines l FORCE INDEX (PRIMARY) ON l.id = k.id
JOIN meter_members m FORCE INDEX (PRIMARY) ON m.line = l.id AND m.until_at = 9223372036854775807
