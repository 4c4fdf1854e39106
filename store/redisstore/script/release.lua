-- Lets the answers of held effects expire.
--
-- KEYS  1 generation of a bucket   then records of that
-- ARGV  1 generation   2 how long they live from now, in ms
-- Reply how many were held
--       -3  the bucket has another generation, or none
local HELD, FINAL, STATES = 2, 1, 8
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return -3
end
local released = 0
for i = 2, #KEYS do
	local first = redis.call('GETRANGE', KEYS[i], 0, 0)
	if first ~= '' and math.floor(string.byte(first) % 128 / STATES) == HELD then
		redis.call('SETRANGE', KEYS[i], 0, string.char(string.byte(first) + (FINAL - HELD) * STATES))
		redis.call('PEXPIRE', KEYS[i], ARGV[2])
		released = released + 1
	end
end
return released
