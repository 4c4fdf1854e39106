-- $1 generation. Whether it was there before.
SELECT COUNT(*) FROM meter_generation_history WHERE generation = $1
