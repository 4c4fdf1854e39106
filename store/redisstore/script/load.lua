-- Reads a record, and makes it if it is absent.
--
-- KEYS  1 record   2 generation of its bucket
-- ARGV  1 generation   2 (optional) the new record   3 its life in ms   4 from when on it is not made any more
--       5 from when on it is made; in ms since 1970, empty for no bound
-- Reply -3                                the bucket has another generation, or none
--       expiry                            made; when it expires, in ms since 1970
--       {false, now}                      absent, and nothing to make, or not now; in ms since 1970
--       {record, expiry, remaining life}  there; in ms
local got = redis.call('MGET', KEYS[1], KEYS[2])
if got[2] ~= ARGV[1] then
	return -3
end
if got[1] then
	return {got[1], redis.call('PEXPIRETIME', KEYS[1]), redis.call('PTTL', KEYS[1])}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not ARGV[2] or ARGV[4] ~= '' and now >= tonumber(ARGV[4]) or ARGV[5] ~= '' and now < tonumber(ARGV[5]) then
	return {false, now}
end
redis.call('SET', KEYS[1], ARGV[2], 'PXAT', string.format('%.0f', now + ARGV[3]))
return now + ARGV[3]
