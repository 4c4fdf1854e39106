-- $1 generation, $2 who, $3 why.
UPDATE reprise.meter_generation SET generation = $1, who = $2, why = $3, since = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE id = 1
