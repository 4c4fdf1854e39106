-- Runs an effect and records what came of it, as one step: first the record is written as executing, then the
-- effect runs, then the record is finished. Redis does not roll back, so what an effect has written stays.
-- The text of the effect takes the place of the line that says so.
--
-- KEYS  1 record   2 generation of its bucket   3 index of abandoned records   then those of the effect
-- ARGV  1 generation   2 how the record begins that is taken over, empty if there must be none
--       3 the executing record   4 nominal life in ms   5 when it is to expire in ms since 1970, empty for the
--       nominal life from now
--       then, of an answer, of no effect and of an unknown outcome, 6 to 9, 10 to 13 and 14 to 17: the record before
--       its age, between that and its reason, after its reason or before its answer, and its life in ms or empty
--       18 before and 19 from when a record may be made, in ms since 1970, or empty
--       then those of the effect
-- Reply -2  the record is another one than the caller knows
--       -3  the bucket has another generation, or none
--       -4  no record may be made now
--       {record, expiry, remaining life}      there is one; in ms
--       {state, text, expiry, age}            it ran: 3 completed with an answer, 4 without effect, 5 unknown,
--                                             both with a reason; when it expires as executing, and its age, in ms
local ARGUMENTS, REASON = 19, 120

local function effect(KEYS, ARGV, redis, noEffect)
--[[effect]]
end

local got = redis.call('MGET', KEYS[1], KEYS[2])
if got[2] ~= ARGV[1] then
	return -3
end
local record, known = got[1], ARGV[2]
if known == '' then
	if record then
		return {record, redis.call('PEXPIRETIME', KEYS[1]), redis.call('PTTL', KEYS[1])}
	end
	if ARGV[18] ~= '' or ARGV[19] ~= '' then
		local time = redis.call('TIME')
		local now = time[1] * 1000 + math.floor(time[2] / 1000)
		if ARGV[18] ~= '' and now >= tonumber(ARGV[18]) or ARGV[19] ~= '' and now < tonumber(ARGV[19]) then
			return -4
		end
	end
elseif not record or string.sub(record, 2, #known) ~= string.sub(known, 2) then
	return -2
end

-- Where there is no memory left this is refused, and nothing was changed.
local age = 0
if ARGV[5] == '' then
	redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
else
	redis.call('SET', KEYS[1], ARGV[3], 'PXAT', ARGV[5])
	age = ARGV[4] - redis.call('PTTL', KEYS[1])
end
local expiry = redis.call('PEXPIRETIME', KEYS[1])

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
local function wrote()
	local READS = ' GET MGET GETRANGE STRLEN EXISTS TYPE TTL PTTL EXPIRETIME PEXPIRETIME HGET HMGET HGETALL HEXISTS HLEN HKEYS HVALS HSTRLEN'
		.. ' LLEN LRANGE LINDEX LPOS SCARD SISMEMBER SMISMEMBER SMEMBERS ZCARD ZSCORE ZMSCORE ZRANGE ZRANK ZCOUNT ZREVRANK GETBIT BITCOUNT TIME ECHO PING '
	for i = 1, count do
		if not string.find(READS, ' ' .. string.upper(made[i]) .. ' ', 1, true) then
			return true
		end
	end
	return false
end
local none = {}
local function noEffect(reason)
	none.reason = tostring(reason or '')
	return none
end

local keys, arguments = {}, {}
for i = 4, #KEYS do
	keys[i - 3] = KEYS[i]
end
for i = ARGUMENTS + 1, #ARGV do
	arguments[i - ARGUMENTS] = ARGV[i]
end
local ran, result = pcall(effect, keys, arguments, counting, noEffect)

local state, text
if not ran then
	if type(result) == 'table' then
		result = result.err
	end
	state, text = 5, 'effect-error: ' .. tostring(result)
elseif result == none then
	state, text = 4, none.reason
	if wrote() then
		state, text = 5, 'effect-error: noEffect after a write: ' .. text
	end
elseif type(result) == 'string' or type(result) == 'number' or result == nil or result == false then
	if type(result) == 'number' and result == math.floor(result) then
		result = string.format('%.0f', result)
	end
	state, text = 3, result and tostring(result) or ''
else
	state, text = 5, 'effect-error: the effect returned a ' .. type(result) .. ', not a text'
end
if state == 5 and not wrote() then
	state = 4 -- it failed before it changed anything
end

local from = ({[3] = 6, [4] = 10, [5] = 14})[state]
local finished = ARGV[from] .. struct.pack('>I6', age) .. ARGV[from + 1]
if state == 3 then
	finished = finished .. ARGV[from + 2] .. text
else
	text = string.sub(text, 1, REASON)
	finished = finished .. string.char(#text) .. text .. ARGV[from + 2]
end
if state == 5 then
	redis.pcall('ZADD', KEYS[3], 0, string.sub(KEYS[1], -32)) -- the record must be written in any case
end
if ARGV[from + 3] == '' then
	redis.call('SET', KEYS[1], finished, 'KEEPTTL')
else
	redis.call('SET', KEYS[1], finished, 'PXAT', expiry - ARGV[4] + age + ARGV[from + 3])
end
return {state, text, expiry, age}
