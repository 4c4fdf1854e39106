-- $1 generation, $2 who, $3 why.
INSERT INTO reprise.meter_generation_history (generation, who, why, since) VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
