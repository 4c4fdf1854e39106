-- $1 numbers, $2 worker, $3 microseconds. Nobody else may take them for so long.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (id BIGINT PATH '$')) AS k STRAIGHT_JOIN meter_inbox i FORCE INDEX (PRIMARY) ON i.id = k.id
SET i.available_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + $3, i.worker = $2
