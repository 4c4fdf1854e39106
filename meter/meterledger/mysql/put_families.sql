-- $1 families: k id, s shared. Adds them, and sets the plans of those that are there.
INSERT INTO meter_families (id, shared, added_at)
SELECT k, s, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) FROM JSON_TABLE($1, '$[*]' COLUMNS (k VARCHAR(64) PATH '$.k', s BIGINT PATH '$.s')) AS r
ON DUPLICATE KEY UPDATE shared = r.s
