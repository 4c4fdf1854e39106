-- Deletes the keys of a line that has moved to another unit, and leaves a mark: the version of the line, which other units of the bucket share,
-- is moved, and the unit notes the number of the move below zero. Like its arrival that waits while the gate is closed.
--
-- KEYS  1 unit   2 generation of the bucket   3 policy 8   4 version of the line   then its other keys
-- ARGV  1 generation as bytes   2 version as it was judged, empty if the line is not here and only the mark is to be left   3 field of the unit with the stamp of the line's policies   4 field of the unit
--       with the number of the line's last move that was noted here   5 number of this one
-- Reply 1  done, now or before
--       0  the line has another version: nothing was changed
--      -1  the gate is closed
--      -2  it has moved on meanwhile: nothing was changed
--      -3  the bucket has another generation, or none
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
if redis.call('HGET', KEYS[3], 'open') ~= 'yes' then
	return -1
end
local version = redis.call('GET', KEYS[4])
local noted = math.abs(tonumber(redis.call('HGET', KEYS[1], ARGV[4]) or '0'))
if ARGV[2] ~= '' and version ~= 'moved' then
	if noted >= tonumber(ARGV[5]) then
		return -2
	end
	if version ~= ARGV[2] then
		return 0
	end
	redis.call('SET', KEYS[4], 'moved')
	for i = 5, #KEYS do
		redis.call('DEL', KEYS[i])
	end
	redis.call('HDEL', KEYS[1], ARGV[3])
end
if not version then -- the unit may be made later, by who let in the line when it was here
	redis.call('SET', KEYS[4], 'moved')
end
if noted < tonumber(ARGV[5]) and redis.call('EXISTS', KEYS[1]) == 1 then
	redis.call('HSET', KEYS[1], ARGV[4], '-' .. ARGV[5])
end
return 1
