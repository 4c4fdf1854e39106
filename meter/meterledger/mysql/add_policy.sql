-- $1 line, $2 policy, $3 version, $4 settings, $5 who. Adds nothing if the version is there.
INSERT INTO meter_policies (line, policy, version, settings, who, set_at) VALUES ($1, $2, $3, $4, $5, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
ON DUPLICATE KEY UPDATE version = meter_policies.version
