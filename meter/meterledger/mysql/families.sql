-- $1 families. Those that are there: id, shared.
SELECT STRAIGHT_JOIN f.id, f.shared FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k JOIN meter_families f FORCE INDEX (PRIMARY) ON f.id = k.id
