-- Finishes an execution for its owner, who knows what becomes of the record.
--
-- KEYS  1 record   2 generation of its bucket
-- ARGV  1 generation   2 the head of the record as the owner knows it, without its first byte
--       3 the new record   4 its life from now in ms   5 when the owner's record expires, in ms since 1970: another
--         life of the key may have begun by a late copy of the same claim, and differs in nothing else
-- Reply when it expires, in ms since 1970
--       -2  the record is not the one that the owner knows
--       -3  the bucket has another generation, or none
local got = redis.call('MGET', KEYS[1], KEYS[2])
if got[2] ~= ARGV[1] then
	return -3
end
local record = got[1]
if not record or string.find(record, ARGV[2], 2, true) ~= 2 or redis.call('PEXPIRETIME', KEYS[1]) ~= tonumber(ARGV[5]) then
	return -2
end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
if string.byte(record) > 127 then -- somebody waits; who is not told finds out by asking
	redis.pcall('PUBLISH', string.sub(KEYS[2], 1, -#'{0000}:generation' - 1) .. 'changes', string.sub(KEYS[1], -32))
end
return redis.call('PEXPIRETIME', KEYS[1])
