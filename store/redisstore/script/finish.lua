-- Finishes executions for their owner, who knows what becomes of the records.
--
-- KEYS  the records
-- ARGV  for each: 1 the head of the record as the owner knows it, without its first byte   2 the new record
--       3 its life from now in ms
-- Reply the time in ms since 1970, then for each
--       1          done: it expires after its life, from that time on
--       -2         the record is not the one that the owner knows
--       an error   it was refused, and is what it was
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local replies, life, expiry = {now}, nil, nil
for i, key in ipairs(KEYS) do
	local at, record = 3 * i, redis.call('GET', key)
	if not record or string.find(record, ARGV[at - 2], 2, true) ~= 2 then
		replies[i + 1] = -2
	else
		if ARGV[at] ~= life then -- it is the same for most
			life = ARGV[at]
			expiry = string.format('%.0f', now + life)
		end
		local result = redis.pcall('SET', key, ARGV[at - 1], 'PXAT', expiry)
		replies[i + 1] = result.err and result or 1
		if string.byte(record) > 127 then -- somebody waits; who is not told finds out by asking
			redis.pcall('PUBLISH', string.sub(key, 1, -#'{0000}:rgggg' - 33) .. 'changes', string.sub(key, -32))
		end
	end
end
return replies
