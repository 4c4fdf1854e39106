-- $1 numbers. Removes them.
DELETE i FROM JSON_TABLE($1, '$[*]' COLUMNS (id BIGINT PATH '$')) AS k STRAIGHT_JOIN meter_inbox i FORCE INDEX (PRIMARY) ON i.id = k.id
