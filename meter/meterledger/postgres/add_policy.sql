-- $1 line, $2 policy, $3 version, $4 settings, $5 who. Adds nothing if the version is there.
INSERT INTO reprise.meter_policies (line, policy, version, settings, who, set_at) VALUES ($1, $2, $3, $4, $5, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) ON CONFLICT DO NOTHING
