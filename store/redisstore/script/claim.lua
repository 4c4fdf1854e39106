-- Makes records where there are none and it is time for them, and reads those that are there.
--
-- KEYS  the records
-- ARGV  1 the life of new ones in ms   2 the place of the last byte that is read of one that is there
--       then for each: the new record, from when on it is not made any more, from when on it is made; in ms since 1970, empty for no bound
-- Reply the time in ms since 1970, then for each
--       1                 made: it expires after its life, from that time on
--       {record, expiry}  there; in ms since 1970. Absent, and not to be made now, is an empty record
--       an error          it was refused, and is what it was
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expiry = string.format('%.0f', now + ARGV[1])
local replies, before, from, timely = {now}, nil, nil, nil
for i, key in ipairs(KEYS) do
	local at = 3 * i
	if ARGV[at + 1] ~= before or ARGV[at + 2] ~= from then -- they are the same for most
		before, from = ARGV[at + 1], ARGV[at + 2]
		timely = (before == '' or now < tonumber(before)) and (from == '' or now >= tonumber(from))
	end
	local made = timely and redis.pcall('SET', key, ARGV[at], 'NX', 'PXAT', expiry)
	if made then
		replies[i + 1] = made.err and made or 1
	else
		local record = redis.pcall('GETRANGE', key, 0, ARGV[2])
		replies[i + 1] = type(record) == 'table' and record or {record, redis.call('PEXPIRETIME', key)}
	end
end
return replies
