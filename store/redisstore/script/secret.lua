-- Writes what is known of a version of the secret, if the versions are still those that were read, and it is not too late.
--
-- KEYS  1 secrets   2 generation of their bucket
-- ARGV  1 generation   2 how many versions there were   3 version   4 what is known of it
--       5 until when it may be written, in ms since 1970   6 what was known of the version, empty if nothing was
-- Reply  1  done
--        0  there are others by now, or it is too late
--       -3  the bucket has another generation, or none: the versions may be lost
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
local time = redis.call('TIME')
if redis.call('HLEN', KEYS[1]) ~= tonumber(ARGV[2]) or (redis.call('HGET', KEYS[1], ARGV[3]) or '') ~= ARGV[6] or time[1] * 1000 + math.floor(time[2] / 1000) > tonumber(ARGV[5]) then
	return 0
end
redis.call('HSET', KEYS[1], ARGV[3], ARGV[4])
return 1
