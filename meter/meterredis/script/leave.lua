-- Removes a consumer, unless it still has deliveries: they would be lost with it.
--
-- KEYS  1 stream
-- ARGV  1 group   2 consumer
-- Reply 1  removed
--       0  it has deliveries
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then
	return 0
end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1
