-- $1 lines: k id, f family. Puts those that are in no family, nor in none, into theirs.
INSERT INTO meter_members (line, family, from_at)
SELECT k, COALESCE(f, ''), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) FROM JSON_TABLE($1, '$[*]' COLUMNS (k VARCHAR(64) PATH '$.k', f VARCHAR(64) PATH '$.f')) AS r
ON DUPLICATE KEY UPDATE line = meter_members.line
