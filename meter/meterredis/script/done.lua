-- Removes deliveries that are dealt with: acknowledges and deletes them, and keeps those that were refused as dead letters.
--
-- KEYS  1 stream   2 dead letters
-- ARGV  1 group   2 how many are done   then their ids   then, of each that was refused, its id, the event, the reason and a detail
-- Reply how many were removed
local done, removed = tonumber(ARGV[2]), 0
local MANY = 1000 -- arguments of a call
for i = 3, done + 2, MANY do
	local last = math.min(i + MANY - 1, done + 2)
	redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, i, last))
	removed = removed + redis.call('XDEL', KEYS[1], unpack(ARGV, i, last))
end
for i = done + 3, #ARGV, 4 do
	redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
	if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then -- else it was dealt with by somebody else
		redis.call('XADD', KEYS[2], '*', 'event', ARGV[i + 1], 'reason', ARGV[i + 2], 'detail', ARGV[i + 3])
		removed = removed + 1
	end
end
return removed
