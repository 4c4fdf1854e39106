-- Reads a record, and makes it if it is absent.
--
-- KEYS  1 record   2 generation of its bucket
-- ARGV  1 generation   2 (optional) the new record   3 its life in ms
-- Reply -3                                the bucket has another generation, or none
--       expiry                            made; when it expires, in ms since 1970
--       {false, now}                      absent, and nothing to make; in ms since 1970
--       {record, expiry, remaining life}  there; in ms
local got = redis.call('MGET', KEYS[1], KEYS[2])
if got[2] ~= ARGV[1] then
	return -3
end
if got[1] then
	return {got[1], redis.call('PEXPIRETIME', KEYS[1]), redis.call('PTTL', KEYS[1])}
end
if ARGV[2] then
	redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
	return redis.call('PEXPIRETIME', KEYS[1])
end
local time = redis.call('TIME')
return {false, time[1] * 1000 + math.floor(time[2] / 1000)}
