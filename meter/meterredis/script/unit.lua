-- Writes the keys of a unit as they are to be, whatever was there, and then the unit itself.
--
-- KEYS  1 unit   2 policy 8   3 generation of the bucket   4 fence of the bucket   then the others
-- ARGV  1 generation as bytes   2 generation as text   3 phase   4 open, 1 or 0   5 since, in ms since 1970
--       6 epoch, empty for a write that no fence is asked about   7 how many months are open, and their fields   then, for each of the other keys, how many words are for it, when it
--       expires in ms since 1970 or 0 for never, and the words: none if it is not to be there, a text, or names of fields with values
-- Reply 1  done
--       0  the unit is at this phase already, or past it: nothing was changed
--      -1  the gate is open
--      -2  the fence has another epoch, or is not there
--      -3  the bucket has another generation, or none
if redis.call('GET', KEYS[3]) ~= ARGV[1] then
	return -3
end
if ARGV[6] ~= '' and redis.call('GET', KEYS[4]) ~= ARGV[6] then
	return -2
end
if redis.call('HGET', KEYS[2], 'open') == 'yes' then
	return -1
end
local unit = redis.call('HMGET', KEYS[1], 'generation', 'phase')
if unit[1] == ARGV[2] and tonumber(unit[2] or '0') >= tonumber(ARGV[3]) then
	return 0
end
redis.call('DEL', KEYS[1])
local at = 7
local months = tonumber(ARGV[at])
for i = 1, months do
	redis.call('HSET', KEYS[1], ARGV[at + i], '1')
end
at = at + months + 1
for i = 5, #KEYS do
	local words = tonumber(ARGV[at])
	redis.call('DEL', KEYS[i])
	if words == 1 then
		redis.call('SET', KEYS[i], ARGV[at + 2])
	elseif words > 1 then
		redis.call('HSET', KEYS[i], unpack(ARGV, at + 2, at + words + 1))
	end
	if words > 0 and ARGV[at + 1] ~= '0' then
		redis.call('PEXPIREAT', KEYS[i], ARGV[at + 1])
	end
	at = at + words + 2
end
for i = at, #ARGV, 2 do -- of the unit itself
	redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
redis.call('HSET', KEYS[1], 'generation', ARGV[2], 'phase', ARGV[3], 'open', ARGV[4], 'since', ARGV[5])
return 1
