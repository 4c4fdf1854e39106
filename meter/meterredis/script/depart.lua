-- Deletes the keys of a line that has moved to another unit, and leaves a mark.
--
-- KEYS  1 unit   2 generation of the bucket   3 version of the line   then its other keys
-- ARGV  1 generation as bytes   2 field of the unit with the stamp of the line's policies
-- Reply 1  done
--      -3  the bucket has another generation, or none
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
redis.call('SET', KEYS[3], 'moved')
for i = 4, #KEYS do
	redis.call('DEL', KEYS[i])
end
redis.call('HDEL', KEYS[1], ARGV[2])
return 1
