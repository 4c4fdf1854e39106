-- $1 lines: k id, f family, i individual, q qos. Adds them, and sets the plans of those that are there.
INSERT INTO meter_lines (id, individual, qos, added_at)
SELECT k, i, q, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) FROM JSON_TABLE($1, '$[*]' COLUMNS (k VARCHAR(64) PATH '$.k', i BIGINT PATH '$.i', q BIGINT PATH '$.q')) AS r
ON DUPLICATE KEY UPDATE individual = r.i, qos = r.q
