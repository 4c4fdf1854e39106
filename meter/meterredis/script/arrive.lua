-- Writes the keys of a line into a unit that it moves to, whatever was there, unless the line is there. While the gate is closed it writes nothing: a
-- hydration or a restore that has begun meanwhile takes a unit that is there for its own.
--
-- KEYS  1 unit   2 generation of the bucket   3 policy 8   then those of the line, its version first, and of a unit that is made what else it has: first those
--       that are to hold something, then those that are not to be there
-- ARGV  1 generation as bytes   2 generation as text   3 since, in ms since 1970   4 make, if the unit may be made   5 field of the unit with the
--       number of the line's last move that was noted here   6 number of this one   7 how many months are open by the line itself, and their fields   then how many keys are to hold something, and for each of those how many words are for
--       it, when it expires in ms since 1970 or 0 for never, and the words: a text, or names of fields with values   then fields of the
--       unit, with values
-- Reply 1  done, now or before
--       0  the unit is not complete in this generation
--      -1  the gate is closed
--      -2  the line has moved on meanwhile: nothing was changed
--      -3  the bucket has another generation, or none
--      -4  the unit was made meanwhile: nothing was changed
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
if redis.call('HGET', KEYS[3], 'open') ~= 'yes' then
	return -1
end
local unit = redis.call('HMGET', KEYS[1], 'generation', 'phase', 'since')
local months = tonumber(ARGV[7])
if unit[1] ~= ARGV[2] or unit[2] ~= '3' then
	if ARGV[4] ~= 'make' then
		return 0
	end
	if unit[1] then
		redis.call('DEL', KEYS[1])
		unit[3] = false -- what it said of another generation has gone with it
	end -- else it names at most policies of lines that are still to be let in
	redis.call('HSET', KEYS[1], 'generation', ARGV[2], 'phase', '3', 'open', '1')
else -- whoever moves the line, too, may have been faster
	if math.abs(tonumber(redis.call('HGET', KEYS[1], ARGV[5]) or '0')) > tonumber(ARGV[6]) then
		return -2
	end
	local version = redis.call('GET', KEYS[4])
	if version and version ~= 'moved' then
		return 1
	end
	if ARGV[4] == 'make' then -- what it has besides the line is not to be written again
		return -4
	end
end
redis.call('HSET', KEYS[1], ARGV[5], ARGV[6])
for i = 1, months do -- one that was there before the line left it may lack those that have begun since
	redis.call('HSET', KEYS[1], ARGV[7 + i], '1')
end
-- The records of the line's events are not here: the done log is asked about earlier ones.
if tonumber(unit[3] or '0') < tonumber(ARGV[3]) then
	redis.call('HSET', KEYS[1], 'since', ARGV[3])
end
for i = 4, #KEYS do
	redis.call('DEL', KEYS[i])
end
local at = 9 + months
for i = 4, 3 + ARGV[at - 1] do
	local words = tonumber(ARGV[at])
	if words == 1 then
		redis.call('SET', KEYS[i], ARGV[at + 2])
	else
		for first = at + 2, at + words + 1, 1000 do -- what Lua can take apart at once is limited
			redis.call('HSET', KEYS[i], unpack(ARGV, first, math.min(first + 999, at + words + 1)))
		end
	end
	if ARGV[at + 1] ~= '0' then
		redis.call('PEXPIREAT', KEYS[i], ARGV[at + 1])
	end
	at = at + words + 2
end
for i = at, #ARGV, 2 do
	redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
return 1
