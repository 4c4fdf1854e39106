-- Puts a dead letter back into the stream.
--
-- KEYS  1 stream   2 dead letters
-- ARGV  1 id of the dead letter   2 the event
-- Reply 1  done
--       0  it is not there any more
if redis.call('XDEL', KEYS[2], ARGV[1]) == 0 then
	return 0
end
redis.call('XADD', KEYS[1], '*', 'event', ARGV[2])
return 1
