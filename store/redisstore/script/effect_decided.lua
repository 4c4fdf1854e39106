-- An effect in two parts, of which the first one only reads: it comes to an answer, or to none. The record is written once,
-- with the answer, before the second part changes anything. Where that fails the record says so instead. An error of the first part
-- is one of the script: nothing was changed, and nothing is recorded.
-- The texts of the parts take the places of the lines that say so. They see the names of all that is above.
--[[run]]
local answer
local written, read, noEffect = false, redis.call, fail
local call -- the first that succeeds tells
call = function(...)
	local result = redis.call(...)
	written, call = true, redis.call
	return result
end
local function effectRecord(decided)
	if type(decided) == 'number' and decided == math.floor(decided) then
		decided = string.format('%.0f', decided)
	end
	answer = tostring(decided or '')
	local answered = front .. common .. bytes .. back .. answer
	if there then
		redis.call('SET', key, answered, 'PXAT', life == '' and expires or expiry - NOMINAL + age + life)
		return
	end
	redis.call('SET', key, answered, 'PX', life == '' and '3153600000000' or life)
	there = true
	if life ~= '' then
		expiry = redis.call('PEXPIRETIME', key) - life + NOMINAL
	end
end
local function effectChange(change)
	local ran, problem = pcall(change)
	if not ran then
		return fail('effect-error: ' .. tostring(type(problem) == 'table' and problem.err or problem), written)
	end
end

do
--[[decide]]
effectRecord(answer)
local effectFailed = effectChange(function()
--[[change]]
end)
if effectFailed then
	return effectFailed
end
end
return expiry == 0 and '\1' .. answer or {3, answer, expiry, age}
