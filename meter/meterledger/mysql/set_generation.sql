-- $1 generation, $2 who, $3 why.
UPDATE meter_generation SET generation = $1, who = $2, why = $3, since = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) WHERE id = 1
