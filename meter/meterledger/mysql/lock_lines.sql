-- $1 lines, in order. Those that are there, locked, with their plans: line, family, individual, qos, shared.
-- The list is in a query of its own: MySQL refuses to lock what JSON_TABLE returns.
SELECT STRAIGHT_JOIN l.id, '', l.individual, l.qos, 0 FROM (SELECT id FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS j) AS k JOIN meter_lines l FORCE INDEX (PRIMARY) ON l.id = k.id FOR UPDATE
