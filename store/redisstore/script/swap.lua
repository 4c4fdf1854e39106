-- Replaces or deletes a record, if it is still the one that was read.
--
-- KEYS  1 record   2 generation of its bucket   3 (optional) the index to change with it
-- ARGV  1 generation   2 how the record that was read begins, empty if it was absent
--       3 the new record, empty to delete   4 when it expires, in ms since 1970
--       5 with an index: ZADD or ZREM   6 (optional) from when on nothing is written, in ms since 1970
-- Reply  1  done
--        0  the record is another one by now, or it is too late
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
if ARGV[6] then
	local time = redis.call('TIME')
	if time[1] * 1000 + math.floor(time[2] / 1000) >= tonumber(ARGV[6]) then
		return 0
	end
end
local digest = string.sub(KEYS[1], -32)
if ARGV[5] == 'ZADD' then
	redis.call('ZADD', KEYS[3], 0, digest)
elseif ARGV[5] == 'ZREM' then
	redis.call('ZREM', KEYS[3], digest)
end
if ARGV[3] == '' then
	redis.call('DEL', KEYS[1])
else
	redis.call('SET', KEYS[1], ARGV[3], 'PXAT', ARGV[4])
end
if got[1] and string.byte(got[1]) > 127 then -- somebody waits; who is not told finds out by asking
	redis.pcall('PUBLISH', string.sub(KEYS[2], 1, -#'{0000}:generation' - 1) .. 'changes', digest)
end
return 1
