-- $1 generation, $2 who, $3 why.
INSERT INTO meter_generation_history (generation, who, why, since) VALUES ($1, $2, $3, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
