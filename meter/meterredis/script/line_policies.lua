-- Writes the policies that a line has of its own in the place of those that it had, unless it has a newer one: whoever read them in SQL may be held up
-- on the way here. Versions that an earlier generation has left say nothing.
--
-- KEYS  1 the policies   2 unit   3 generation of the bucket
-- ARGV  1 field of the unit with their stamp   2 stamp, empty if there are none   then their fields, each a name and a value
-- Reply 1  done
--       0  there is a newer one
local new = {}
for i = 3, #ARGV, 2 do
	new[ARGV[i]] = ARGV[i + 1]
end
local generation = redis.call('HGET', KEYS[2], 'generation')
local now = string.gsub(redis.call('GET', KEYS[3]) or '', '.', function(c)
	return string.format('%02x', string.byte(c))
end)
if (not generation or generation == now) and redis.call('TYPE', KEYS[1]).ok == 'hash' then
	local there = redis.call('HGETALL', KEYS[1])
	for i = 1, #there, 2 do
		if string.match(there[i], '^%d:version$') and (tonumber(there[i + 1]) or 0) > (tonumber(new[there[i]]) or 0) then
			return 0
		end
	end
end
redis.call('DEL', KEYS[1])
if ARGV[2] == '' then
	redis.call('HDEL', KEYS[2], ARGV[1])
	return 1
end
for first = 3, #ARGV, 1000 do -- what Lua can take apart at once is limited
	redis.call('HSET', KEYS[1], unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1
