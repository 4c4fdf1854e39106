-- Tells when a key expires, in ms since 1970, before Redis 7, which has PEXPIRETIME. It stands before other scripts, and
-- takes the place of their calls of that.
--
-- The clock goes on while a script runs. What is left of a key's life and the time are of the same millisecond if the time
-- was the same before and after.
local function expiryOf(key)
	local function now()
		local time = redis.call('TIME')
		return time[1] * 1000 + math.floor(time[2] / 1000)
	end
	while true do
		local before = now()
		local left = redis.call('PTTL', key)
		if left < 0 then
			return left
		end
		if now() == before then
			return before + left
		end
	end
end

