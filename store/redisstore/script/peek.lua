-- Reads the beginning of a record that is in one of some states.
--
-- KEYS  1 record   2 generation of its bucket
-- ARGV  1 generation   2 the states, a byte each; that of absent stands for a record of another generation
--       3 how much of it to read in bytes
-- Reply -3    the bucket has another generation, or none
--       nil   absent
--       0     in another state
--       {beginning, expiry, remaining life in ms, size in bytes}; a record of an unknown form is in every state
local FORM, HEAD = 1, 10
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
local head = redis.call('GETRANGE', KEYS[1], 0, HEAD - 1)
if head == '' then
	return false
end
if #head == HEAD and string.byte(head) % 128 == FORM then
	local state = string.sub(head, 2, 2)
	if string.sub(head, 3) ~= string.sub(ARGV[1], 1, HEAD - 2) then
		state = '\0'
	end
	if not string.find(ARGV[2], state, 1, true) then
		return 0
	end
end
return {
	redis.call('GETRANGE', KEYS[1], 0, ARGV[3] - 1), redis.call('PEXPIRETIME', KEYS[1]), redis.call('PTTL', KEYS[1]),
	redis.call('STRLEN', KEYS[1]),
}
