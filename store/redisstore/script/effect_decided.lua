-- An effect in two parts, of which the first one only reads: it comes to an answer, or to none. The record is written once,
-- with the answer, before the second part changes anything. Where that fails the record says so instead. An error of the first part
-- is one of the script: nothing was changed, and nothing is recorded.
-- The texts of the parts take the places of the lines that say so. They see their own names and those above them, and nothing of what is
-- below: a variable that they forget to declare must not become one of the record's.
local texts, answer, noEffect, call
local read = redis.call
local decide = function()
--[[decide]]
return function()
--[[change]]
end
end
--[[run]]
noEffect = fail
local change = decide()
if type(change) ~= 'function' then
	return change
end
if type(answer) == 'number' and answer == math.floor(answer) then
	answer = string.format('%.0f', answer)
end
answer = tostring(answer or '')
local answered = front .. common .. bytes .. back .. answer
if there then
	redis.call('SET', key, answered, 'PXAT', life == '' and expires or expiry - NOMINAL + age + life)
else
	redis.call('SET', key, answered, 'PX', life == '' and '3153600000000' or life)
	there = true
	if life ~= '' then
		expiry = redis.call('PEXPIRETIME', key) - life + NOMINAL
	end
end
local written = false
call = function(...) -- the first that succeeds tells
	local result = redis.call(...)
	written, call = true, redis.call
	return result
end
local ran, problem = pcall(change)
if not ran then
	return fail('effect-error: ' .. tostring(type(problem) == 'table' and problem.err or problem), written)
end
return expiry == 0 and '\1' .. answer or {3, answer, expiry, age}
