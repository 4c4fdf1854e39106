-- Closes a unit because a line of it moves, or opens it again when that line has. Nobody else opens it meanwhile, and no other line of
-- it begins to move: each waits until SQL has all of its line, and what the other lets in would not be in it. A unit that is closed
-- for another reason stays as it is.
--
-- KEYS  1 unit   2 generation of the bucket
-- ARGV  1 generation as bytes   2 generation as text   3 open, 1 or 0   4 line
-- Reply 1  done
--       0  the unit is not there in this generation
--      -4  it is closed, and not because this line moves
--      -3  the bucket has another generation, or none
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
local unit = redis.call('HMGET', KEYS[1], 'generation', 'open')
if unit[1] ~= ARGV[2] then
	return 0
end
local moves = '0:' .. ARGV[4]
if unit[2] ~= '1' and unit[2] ~= moves then
	return ARGV[3] == '1' and 1 or -4
end
redis.call('HSET', KEYS[1], 'open', ARGV[3] == '1' and '1' or moves)
return 1
