-- $1 generation. Whether it was there before.
SELECT count(*) FROM reprise.meter_generation_history WHERE generation = $1
