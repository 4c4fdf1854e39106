-- Deletes a record of another generation than its bucket's.
--
-- KEYS  1 record   2 generation of its bucket
-- ARGV  1 generation
-- Reply how many were deleted
--       -3  the bucket has another generation than the caller knows, or none: the record may be one of that
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
return redis.call('DEL', KEYS[1])
