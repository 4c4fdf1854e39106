-- Puts a key right, if it and the number of changes of its owner still are as they were judged.
--
-- KEYS  1 key   2 generation of the bucket   3 fence of the bucket   4 version of the owner; of a key that no event changes the key itself
-- ARGV  1 generation as bytes, empty for a key of no bucket   2 epoch, empty for a write that no fence is asked about
--       3 what the key held, as DUMP says it, empty for nothing   4 the version in the same way, or - if it does not matter
--       5 when it is to expire in ms since 1970, 0 for never   6 none, string, hash, dump, or kept for what it
--       held, of which only the expiry is wrong   then the content
-- Reply 1  done
--       0  it is not as it was judged: nothing was changed
--      -2  the fence has another epoch, or is not there
--      -3  the bucket has another generation, or none
if ARGV[1] ~= '' and redis.call('GET', KEYS[2]) ~= ARGV[1] then
	return -3
end
if ARGV[2] ~= '' and redis.call('GET', KEYS[3]) ~= ARGV[2] then
	return -2
end
if (redis.call('DUMP', KEYS[1]) or '') ~= ARGV[3] then
	return 0
end
if ARGV[4] ~= '-' and (redis.call('DUMP', KEYS[4]) or '') ~= ARGV[4] then
	return 0
end
if ARGV[6] == 'dump' then -- first, because RESTORE may be refused: then nothing was changed
	redis.call('RESTORE', KEYS[1], '0', ARGV[7], 'REPLACE')
elseif ARGV[6] == 'kept' then
	redis.call('PERSIST', KEYS[1])
else
	redis.call('DEL', KEYS[1])
end
if ARGV[6] == 'string' then
	redis.call('SET', KEYS[1], ARGV[7])
elseif ARGV[6] == 'hash' then
	for i = 7, #ARGV, 2 do
		redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
	end
end
if ARGV[6] ~= 'none' and ARGV[5] ~= '0' then
	redis.call('PEXPIREAT', KEYS[1], ARGV[5])
end
return 1
