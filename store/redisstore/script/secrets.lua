-- Reads what is known of the versions of the secret, with the time.
--
-- KEYS  1 secrets   2 generation of their bucket
-- ARGV  1 generation
-- Reply {now in ms since 1970, {version, what is known of it, …}}
--       -3  the bucket has another generation, or none: the versions may be lost
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
local time = redis.call('TIME')
return {time[1] * 1000 + math.floor(time[2] / 1000), redis.call('HGETALL', KEYS[1])}
