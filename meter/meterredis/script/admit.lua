-- Lets a unit, or lines of one, in that were not in SQL when the others were hydrated. What is there stays as it is.
--
-- KEYS  1 unit   2 policy 8   3 generation of the bucket   then the versions of family and lines
-- ARGV  1 generation as bytes   2 generation as text   3 new if all of the unit is new, else empty
-- Reply 1  done
--       0  the unit is of another generation, not complete, or closed
--      -1  the gate is closed
--      -3  the bucket has another generation, or none
if redis.call('GET', KEYS[3]) ~= ARGV[1] then
	return -3
end
if redis.call('HGET', KEYS[2], 'open') ~= 'yes' then
	return -1
end
local unit = redis.call('HMGET', KEYS[1], 'generation', 'phase', 'open')
if not unit[1] and ARGV[3] == 'new' then
	redis.call('HSET', KEYS[1], 'generation', ARGV[2], 'phase', '3', 'open', '1')
elseif unit[1] ~= ARGV[2] or unit[2] ~= '3' or unit[3] ~= '1' then
	return 0
end
for i = 4, #KEYS do
	redis.call('SET', KEYS[i], '0', 'NX')
end
return 1
