-- Runs an effect and records what came of it, as one step: first the record is written as executing, then the
-- effect runs, then the record is finished. Redis does not roll back, so what an effect has written stays.
-- The text of the effect takes the place of the line that says so.
--
-- KEYS  those of the effect, then 1 record   2 generation of its bucket   3 index of abandoned records
-- ARGV  those of the effect, then 1 generation   2 how the record begins that is taken over, empty if there must be none
--       3 the executing record   4 when it is to expire in ms since 1970, empty for the nominal life from now
--       5 the record with an answer before its age, 6 between that and the answer, 7 its life in ms, empty for the nominal one
--       8 for other outcomes, each part after its length in two bytes: the record without effect before its age, between that
--       and a reason, after that, its life in ms; the record of an unknown outcome in three such parts
--       9 before, and after a comma from when a record may be made, in ms since 1970, or empty
-- Reply -2  the record is another one than the caller knows
--       -3  the bucket has another generation, or none
--       -4  no record may be made now
--       {record, expiry, remaining life}      there is one; in ms
--       {state, text, expiry, age}            it ran: 3 completed with an answer, 4 without effect, 5 unknown, both with a
--                                             reason; when it expires as executing, 0 if nobody needs to know, and its age in ms
local OURS, NOMINAL, REASON = 9, 3153600000000, 120

local function effect(KEYS, ARGV, redis, noEffect)
--[[effect]]
end

-- What is ours is taken away from what the effect gets to see, which costs less than to copy that.
local at, from = #KEYS - 2, #ARGV - OURS
local key, generation, index = KEYS[at], KEYS[at + 1], KEYS[at + 2]
local believed, known, executing, expires = ARGV[from + 1], ARGV[from + 2], ARGV[from + 3], ARGV[from + 4]
local front, back, life, otherwise, bounds = ARGV[from + 5], ARGV[from + 6], ARGV[from + 7], ARGV[from + 8], ARGV[from + 9]
for i = at, at + 2 do
	KEYS[i] = nil
end
for i = from + 1, from + OURS do
	ARGV[i] = nil
end

local got = redis.call('MGET', key, generation)
if got[2] ~= believed then
	return -3
end
local record = got[1]
if known == '' then
	if record then
		return {record, redis.call('PEXPIRETIME', key), redis.call('PTTL', key)}
	end
	if bounds ~= '' then
		local time = redis.call('TIME')
		local now = time[1] * 1000 + math.floor(time[2] / 1000)
		local comma = string.find(bounds, ',', 1, true)
		local before, since = tonumber(string.sub(bounds, 1, comma - 1)), tonumber(string.sub(bounds, comma + 1))
		if before and now >= before or since and now < since then
			return -4
		end
	end
elseif not record or string.sub(record, 2, #known) ~= string.sub(known, 2) then
	return -2
end

-- Where there is no memory left this is refused, and nothing was changed.
local age, expiry = 0, 0
if expires == '' then
	redis.call('SET', key, executing, 'PX', NOMINAL)
	if life ~= '' then
		expiry = redis.call('PEXPIRETIME', key)
	end
else
	redis.call('SET', key, executing, 'PXAT', expires)
	expiry = redis.call('PEXPIRETIME', key)
	age = NOMINAL - redis.call('PTTL', key)
end

-- The names of the calls that succeeded. Whether one of them was a write is looked up when it matters.
local made, count = {}, 0
local counting = {
	call = function(name, ...)
		local result = redis.call(name, ...)
		count = count + 1
		made[count] = name
		return result
	end,
	pcall = function(name, ...)
		local result = redis.pcall(name, ...)
		if type(result) ~= 'table' or not result.err then
			count = count + 1
			made[count] = name
		end
		return result
	end,
	error_reply = redis.error_reply, status_reply = redis.status_reply, sha1hex = redis.sha1hex, log = redis.log, LOG_WARNING = redis.LOG_WARNING,
}
local none = {}
local function noEffect(reason)
	none.reason = tostring(reason or '')
	return none
end

local ran, result = pcall(effect, KEYS, ARGV, counting, noEffect)

if ran and (type(result) == 'string' or type(result) == 'number' or result == nil or result == false) then
	if type(result) == 'number' and result == math.floor(result) then
		result = string.format('%.0f', result)
	end
	result = result and tostring(result) or ''
	local answered = front .. struct.pack('>I6', age) .. back .. result
	if life == '' then
		redis.call('SET', key, answered, 'KEEPTTL')
	else
		redis.call('SET', key, answered, 'PXAT', expiry - NOMINAL + age + life)
	end
	return {3, result, expiry, age}
end

local READS = ' GET MGET GETRANGE STRLEN EXISTS TYPE TTL PTTL EXPIRETIME PEXPIRETIME HGET HMGET HGETALL HEXISTS HLEN HKEYS HVALS HSTRLEN'
	.. ' LLEN LRANGE LINDEX LPOS SCARD SISMEMBER SMISMEMBER SMEMBERS ZCARD ZSCORE ZMSCORE ZRANGE ZRANK ZCOUNT ZREVRANK GETBIT BITCOUNT TIME ECHO PING '
local wrote = false
for i = 1, count do
	wrote = wrote or not string.find(READS, ' ' .. string.upper(made[i]) .. ' ', 1, true)
end
local text
if not ran then
	if type(result) == 'table' then
		result = result.err
	end
	text = 'effect-error: ' .. tostring(result)
elseif result ~= none then
	text = 'effect-error: the effect returned a ' .. type(result) .. ', not a text'
elseif wrote then
	text = 'effect-error: noEffect after a write: ' .. none.reason
else
	text = none.reason
end
text = string.sub(text, 1, REASON)

local front4, before4, after4, life4, front5, before5, after5 = struct.unpack('>Hc0Hc0Hc0Hc0Hc0Hc0Hc0', otherwise)
local reason = string.char(#text) .. text
if not wrote then -- it failed before it changed anything, or says so
	if expiry == 0 then
		expiry = redis.call('PEXPIRETIME', key)
	end
	redis.call('SET', key, front4 .. struct.pack('>I6', age) .. before4 .. reason .. after4, 'PXAT', expiry - NOMINAL + age + life4)
	return {4, text, expiry, age}
end
redis.pcall('ZADD', index, 0, string.sub(key, -32)) -- the record must be written in any case
redis.call('SET', key, front5 .. struct.pack('>I6', age) .. before5 .. reason .. after5, 'KEEPTTL')
return {5, text, expiry, age}
