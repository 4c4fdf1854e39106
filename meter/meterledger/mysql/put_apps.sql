-- $1 apps.
INSERT INTO meter_apps (id, added_at)
SELECT k.id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) FROM JSON_TABLE($1, '$[*]' COLUMNS (id VARCHAR(160) PATH '$')) AS k ON DUPLICATE KEY UPDATE added_at = meter_apps.added_at
