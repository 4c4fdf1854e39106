-- $1 grants: k id, n kind, l line, f family, m month, i individual, q qos, s shared. Leaves out ids that are there.
INSERT INTO meter_grants (id, kind, line, family, month, individual, qos, shared, made_at, monthly)
SELECT k, n, l, f, m, i, q, s, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), CASE n WHEN 'monthly' THEN 1 END
FROM JSON_TABLE($1, '$[*]' COLUMNS (k VARCHAR(128) PATH '$.k', n VARCHAR(7) PATH '$.n', l VARCHAR(64) PATH '$.l', f VARCHAR(64) PATH '$.f', m INT PATH '$.m', i BIGINT PATH '$.i', q BIGINT PATH '$.q', s BIGINT PATH '$.s')) AS r
ON DUPLICATE KEY UPDATE version = meter_grants.version
