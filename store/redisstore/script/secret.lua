-- Writes what is known of a version of the secret, if the versions are still those that were read.
--
-- KEYS  1 secrets   2 generation of their bucket
-- ARGV  1 generation   2 how many versions there were   3 version   4 what is known of it
-- Reply  1  done
--        0  there are others by now
--       -3  the bucket has another generation, or none: the versions may be lost
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
if redis.call('HLEN', KEYS[1]) ~= tonumber(ARGV[2]) then
	return 0
end
redis.call('HSET', KEYS[1], ARGV[3], ARGV[4])
return 1
