-- Adds a record to the index of its bucket, or removes it, if the record is still the one that was read.
--
-- KEYS  1 record   2 generation of its bucket   3 index
-- ARGV  1 generation   2 how the record that was read begins, empty if it was absent   3 ZADD or ZREM
-- Reply  1  done
--        0  the record is another one by now
--       -3  the bucket has another generation, or none
local got = redis.call('MGET', KEYS[1], KEYS[2])
if got[2] ~= ARGV[1] then
	return -3
end
if ARGV[2] == '' then
	if got[1] then
		return 0
	end
elseif not got[1] or string.sub(got[1], 2, #ARGV[2]) ~= string.sub(ARGV[2], 2) then
	return 0 -- the first byte may be marked
end
local digest = string.sub(KEYS[1], -32)
if ARGV[3] == 'ZADD' then
	redis.call('ZADD', KEYS[3], 0, digest)
else
	redis.call('ZREM', KEYS[3], digest)
end
return 1
