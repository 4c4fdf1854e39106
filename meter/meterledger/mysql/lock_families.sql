-- $1 families, in order. Those that are there, locked, with their plans: line, family, individual, qos, shared.
SELECT STRAIGHT_JOIN '', f.id, 0, 0, f.shared FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k JOIN meter_families f FORCE INDEX (PRIMARY) ON f.id = k.id FOR UPDATE
