-- Removes consumers that have no delivery and were silent for long: those of processes that ended without a word. One that still lives is made
-- again by its next read.
--
-- KEYS  1 stream
-- ARGV  1 group   2 for how long they were silent, in ms
-- Reply how many were removed
if redis.call('EXISTS', KEYS[1]) == 0 then
	return 0 -- Redis was emptied; whoever reads makes the stream again
end
local removed = 0
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
	local says = {}
	for i = 1, #consumer, 2 do -- the server may say more of it than what is asked for here
		says[consumer[i]] = consumer[i + 1]
	end
	if says.pending == 0 and says.idle >= tonumber(ARGV[2]) then
		redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], says.name)
		removed = removed + 1
	end
end
return removed
