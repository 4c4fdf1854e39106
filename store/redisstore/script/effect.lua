-- Runs an effect and records what came of it, as one step. A record is there before the effect changes anything, because
-- Redis does not roll back: what an effect has written stays.
--
-- This is what all effects have in common. Two lines are replaced, by what is in effect_whole.lua or effect_decided.lua, which declares texts; so
-- are the keys whose texts are read together with the record.
--
-- KEYS  those of the effect, then 1 record   2 generation of its bucket   3 index of abandoned records
-- ARGV  those of the effect, then 1 generation   2 what the finished forms of the record have in common before its age, in the end
--       3 how the record with an answer begins, before that   4 what it has between its age and the answer   5 its life in ms, empty
--       for the nominal one   6 for other outcomes, each part after its length in two bytes: how the record without effect begins, what it
--       has between its age and a reason, after that, its life in ms; the record of an unknown outcome in three such parts
--       7 empty or, each part after its length in two bytes: how the record begins that is taken over, empty if there must be none;
--       when that expires in ms since 1970, empty for the nominal life from now; before, and after a comma from when a record may be
--       made, in ms since 1970, or empty; the executing record
-- Reply -2  the record is another one than the caller knows
--       -3  the bucket has another generation, or none
--       -4  no record may be made now
--       {record, expiry, remaining life}      there is one; in ms
--       '\1' and a text                       it ran: completed with this answer, and nobody needs to know when it expires
--       another text, or nothing              a fragment that decides has returned it: nothing was changed or recorded
--       {state, text, expiry, age}            it ran: 3 completed with an answer, 4 without effect, 5 unknown, both with a
--                                             reason; when it expires as executing, 0 if nobody knows, and its age in ms

--[[effect]]
local OURS, NOMINAL, REASON = 7, 3153600000000, 120

-- What is ours is taken away from what the effect gets to see, which costs less than to copy that.
local at, from = #KEYS - 2, #ARGV - OURS
local key, generation, index = KEYS[at], KEYS[at + 1], KEYS[at + 2]
local believed, common, front, back = ARGV[from + 1], ARGV[from + 2], ARGV[from + 3], ARGV[from + 4]
local life, otherwise, unusual = ARGV[from + 5], ARGV[from + 6], ARGV[from + 7]
for i = at, at + 2 do
	KEYS[i] = nil
end
for i = from + 1, from + OURS do
	ARGV[i] = nil
end

texts = redis.call('MGET', --[[texts]]key, generation)
local record = texts[#texts - 1]
if texts[#texts] ~= believed then
	return -3
end
local known, expires, bounds, executing = '', '', '', ''
if unusual ~= '' then
	known, expires, bounds, executing = struct.unpack('>Hc0Hc0Hc0Hc0', unusual)
end
if known ~= '' then
	if not record or string.sub(record, 2, #known) ~= string.sub(known, 2) then
		return -2
	end
elseif record then
	return {record, redis.call('PEXPIRETIME', key), redis.call('PTTL', key)}
end
if bounds ~= '' then -- also of one that takes the place of a record which is over
	local time = redis.call('TIME')
	local now = time[1] * 1000 + math.floor(time[2] / 1000)
	local comma = string.find(bounds, ',', 1, true)
	local before, since = tonumber(string.sub(bounds, 1, comma - 1)), tonumber(string.sub(bounds, comma + 1))
	if before and now >= before or since and now < since then
		return -4
	end
end

-- Where there is no memory left the first write of the record is refused, and nothing was changed.
local there = expires ~= '' -- whether the record is written
local age, expiry = 0, 0
if there then
	redis.call('SET', key, executing, 'PXAT', expires)
	expiry = redis.call('PEXPIRETIME', key)
	age = math.max(0, NOMINAL - redis.call('PTTL', key)) -- a clock that was put back makes nobody younger than new
end
local bytes = age == 0 and '\0\0\0\0\0\0' or struct.pack('>I6', age) -- of the age, in the forms of the record

-- Records that there is no answer, and returns the reply.
local function fail(text, written)
	local front4, before4, after4, life4, front5, before5, after5 = struct.unpack('>Hc0Hc0Hc0Hc0Hc0Hc0Hc0', otherwise)
	text = string.sub(tostring(text or ''), 1, REASON)
	local reason = string.char(#text) .. text
	if there and expiry == 0 then
		expiry = redis.call('PEXPIRETIME', key)
	end
	if written then
		redis.pcall('ZADD', index, 0, string.sub(key, -32)) -- the record must be written in any case
		redis.call('SET', key, front5 .. common .. bytes .. before5 .. reason .. after5, 'PXAT', expiry)
		return {5, text, expiry, age}
	end
	local refused = front4 .. common .. bytes .. before4 .. reason .. after4
	if there then
		redis.call('SET', key, refused, 'PXAT', expiry - NOMINAL + age + life4)
	else
		redis.call('SET', key, refused, 'PX', life4)
	end
	return {4, text, expiry, age}
end

--[[run]]
