-- $1 families, in order. Those that are there, locked, with their plans: line, family, individual, qos, shared.
-- The list is in a query of its own: MySQL refuses to lock what JSON_TABLE returns.
SELECT STRAIGHT_JOIN '', f.id, 0, 0, f.shared FROM (SELECT id FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS j) AS k JOIN meter_families f FORCE INDEX (PRIMARY) ON f.id = k.id FOR UPDATE
