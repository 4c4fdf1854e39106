-- Reads the server's time.
--
-- KEYS  1 any of the store
-- Reply {seconds since 1970, microseconds}
return redis.call('TIME')
