-- Opens or closes a unit.
--
-- KEYS  1 unit   2 generation of the bucket
-- ARGV  1 generation as bytes   2 generation as text   3 open, 1 or 0
-- Reply 1  done
--       0  the unit is not there in this generation
--      -3  the bucket has another generation, or none
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
if redis.call('HGET', KEYS[1], 'generation') ~= ARGV[2] then
	return 0
end
redis.call('HSET', KEYS[1], 'open', ARGV[3])
return 1
