-- Writes what is known of a version of the secret, if the versions are still those that were read.
--
-- KEYS  1 secrets
-- ARGV  1 how many versions there were   2 version   3 what is known of it
-- Reply  1  done
--        0  there are others by now
if redis.call('HLEN', KEYS[1]) ~= tonumber(ARGV[1]) then
	return 0
end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
return 1
