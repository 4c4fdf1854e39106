-- Writes a global policy into a bucket, if there is no newer one, and stamps the set of them.
--
-- KEYS  the policies of the bucket, in the order of their numbers
-- ARGV  1 number of the policy   2 its version   then its fields, each a name and a value
-- Reply 1  done
--       0  there is a newer one
local GATE = 8
local key = KEYS[tonumber(ARGV[1])]
local there = tonumber(redis.call('HGET', key, 'version') or '0')
if there > tonumber(ARGV[2]) then
	return 0
end
redis.call('DEL', key)
redis.call('HSET', key, unpack(ARGV, 3))
local versions = {}
for i = 1, GATE - 1 do
	local version = redis.call('HGET', KEYS[i], 'version')
	if not version then
		redis.call('HDEL', KEYS[GATE], 'stamp')
		return 1
	end
	versions[i] = version
end
redis.call('HSET', KEYS[GATE], 'stamp', table.concat(versions, '.'))
return 1
