-- An effect that reads and writes as it likes: the record is written as executing before it begins, and finished after it.
-- The text of the effect takes the place of the line that says so.
local function effect(KEYS, ARGV, redis, noEffect)
--[[fragment]]
end
local texts
--[[run]]
if not there then
	redis.call('SET', key, executing, 'PX', NOMINAL)
	there = true
	if life ~= '' then
		expiry = redis.call('PEXPIRETIME', key)
	end
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
	local answered = front .. common .. bytes .. back .. result
	if life == '' then
		redis.call('SET', key, answered, 'KEEPTTL')
	else
		redis.call('SET', key, answered, 'PXAT', expiry - NOMINAL + age + life)
	end
	return {3, result, expiry, age}
end
local written = false
for i = 1, count do
	written = written or not string.find('--[[reads]]', ' ' .. string.upper(made[i]) .. ' ', 1, true)
end
if not ran then
	return fail('effect-error: ' .. tostring(type(result) == 'table' and result.err or result), written)
elseif result ~= none then
	return fail('effect-error: the effect returned a ' .. type(result) .. ', not a text', written)
elseif written then
	return fail('effect-error: noEffect after a write: ' .. none.reason, written)
end
return fail(none.reason, written)
