-- Reads the beginning of a record that is in one of some states.
--
-- KEYS  1 record   2 generation of its bucket
-- ARGV  1 generation   2 the states, a byte each   3 how much of it to read in bytes
-- Reply -3    the bucket has another generation, or none
--       nil   absent
--       0     in another state
--       {beginning, expiry, remaining life in ms, size in bytes}; a record of an unknown form is in every state
local FORM, STATES = 1, 8
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
local first = redis.call('GETRANGE', KEYS[1], 0, 0)
if first == '' then
	return false
end
first = string.byte(first) % 128
if math.floor(first / STATES) == FORM and not string.find(ARGV[2], string.char(first % STATES), 1, true) then
	return 0
end
return {
	redis.call('GETRANGE', KEYS[1], 0, ARGV[3] - 1), redis.call('PEXPIRETIME', KEYS[1]), redis.call('PTTL', KEYS[1]),
	redis.call('STRLEN', KEYS[1]),
}
