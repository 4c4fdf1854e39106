-- Finishes an execution for its owner, without reading the record first: the part of it that was written when
-- it was claimed stays as it is, between a new head and a new tail.
--
-- KEYS  1 record   2 generation of its bucket   3 (optional) the index to add the record to
-- ARGV  1 generation   2 the head of the record as the owner knows it, without its first byte   3 the new head   4 the new tail
--       5 life from now in ms, empty to leave it unfinished
--       6 when it expires as long as it is unfinished, in ms since 1970   7 its life until then in ms
-- Reply the age of the record in ms
--       -2  the record is not the one that the owner knows
--       -3  the bucket has another generation, or none
local got = redis.call('MGET', KEYS[1], KEYS[2])
if got[2] ~= ARGV[1] then
	return -3
end
local record, head = got[1], #ARGV[2] + 1
if not record or string.sub(record, 2, head) ~= ARGV[2] then
	return -2
end
local expiry = redis.call('PEXPIRETIME', KEYS[1])
if expiry ~= tonumber(ARGV[6]) then
	return -2 -- the same invocation has begun a record of the same key before
end
local left = redis.call('PTTL', KEYS[1])
local age = ARGV[7] - left
local high, middle, low = string.byte(record, head + 1, head + 3)
local claim = string.sub(record, head + 1, head + 3 + high * 65536 + middle * 256 + low)
local new = ARGV[3] .. claim .. struct.pack('>I6', age) .. ARGV[4]
if KEYS[3] then
	redis.call('ZADD', KEYS[3], 0, string.sub(KEYS[1], -32))
end
if ARGV[5] == '' then
	redis.call('SET', KEYS[1], new, 'KEEPTTL')
else
	-- Not PX: the clock may have gone on since the rest of its life was read, and the two must agree.
	redis.call('SET', KEYS[1], new, 'PXAT', expiry - left + ARGV[5])
end
if string.byte(record) > 127 then -- somebody waits; who is not told finds out by asking
	redis.pcall('PUBLISH', string.sub(KEYS[2], 1, -#'{0000}:generation' - 1) .. 'changes', string.sub(KEYS[1], -32))
end
return age
