-- Takes in events, all or none.
--
-- KEYS  1 stream
-- ARGV  1 how long it may be   then the events
-- Reply 1  taken in
--       0  there is no room for all of them
if redis.call('XLEN', KEYS[1]) + #ARGV - 1 > tonumber(ARGV[1]) then
	return 0
end
for i = 2, #ARGV do
	redis.call('XADD', KEYS[1], '*', 'event', ARGV[i])
end
return 1
