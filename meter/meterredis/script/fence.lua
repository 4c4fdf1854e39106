-- Writes a fence into a bucket, unless there is a newer one.
--
-- KEYS  1 fence   2 generation of the bucket
-- ARGV  1 generation as bytes   2 epoch
-- Reply 1  done
--      -2  there is a newer one
--      -3  the bucket has another generation, or none
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
if tonumber(redis.call('GET', KEYS[1]) or '0') > tonumber(ARGV[2]) then
	return -2
end
redis.call('SET', KEYS[1], ARGV[2])
return 1
