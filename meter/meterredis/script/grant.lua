-- Raises the allowances of a month, as meter.ApplyGrant does: a fragment of an effect, whose operation is the grant.
--
-- KEYS  1 unit   2 policy 8   3 version of the owner   4 its remaining allowance
-- ARGV  1 generation   2 kind, monthly or topup   3 owner, line or family   4 field of the unit that is there if the month is open
--       5 opens if the grant opens the month for the unit   6 field of the unit with the number of the line's last move, below zero if
--       it left   then names of fields and amounts
-- Reply the version; without effect, a reason of package meter
local call = redis.call
local MOST = '9223372036854775807'
local unit = call('HMGET', KEYS[1], 'generation', 'phase', 'open', ARGV[4], ARGV[6])
local gate = call('HMGET', KEYS[2], 'open', 'stamp')
local version = call('GET', KEYS[3])
local there = call('EXISTS', KEYS[4]) == 1

local function refusal()
	if gate[1] ~= 'yes' then
		return 'gate_closed'
	elseif not gate[2] then
		return 'policies_missing'
	elseif unit[1] ~= ARGV[1] or unit[2] ~= '3' then
		return 'unit_not_hydrated'
	elseif unit[3] ~= '1' then
		return 'unit_closed'
	elseif ARGV[3] == 'line' and (version == 'moved' or string.sub(unit[5] or '', 1, 1) == '-') then
		return 'line_moved'
	elseif ARGV[3] == 'line' and not version then
		return 'unknown_line'
	elseif ARGV[3] == 'line' and ARGV[2] ~= 'monthly' and not unit[4] then
		return 'month_not_open'
	elseif there and ARGV[2] == 'monthly' then
		return 'granted_twice'
	elseif not there and ARGV[2] ~= 'monthly' then
		return 'month_not_open'
	end
	return nil
end

local reason = refusal()
if reason then
	return noEffect(reason)
end

-- HINCRBY is exact, and fails where an allowance would pass the largest amount: so that is looked for before.
local function room(a, b)
	local ahigh, alow = tonumber(string.sub(a, 1, -10)) or 0, tonumber(string.sub(a, -9))
	local bhigh, blow = tonumber(string.sub(b, 1, -10)) or 0, tonumber(string.sub(b, -9))
	local high, low = ahigh + bhigh, alow + blow
	if low >= 1000000000 then
		high, low = high + 1, low - 1000000000
	end
	local mhigh, mlow = tonumber(string.sub(MOST, 1, -10)), tonumber(string.sub(MOST, -9))
	return high < mhigh or high == mhigh and low <= mlow
end
for i = 7, #ARGV, 2 do
	if not room(call('HGET', KEYS[4], ARGV[i]) or '0', ARGV[i + 1]) then
		return noEffect('overflow')
	end
end
for i = 7, #ARGV, 2 do
	call('HINCRBY', KEYS[4], ARGV[i], ARGV[i + 1])
end
if ARGV[5] ~= '' then
	call('HSET', KEYS[1], ARGV[4], '1')
end
return string.format('%.0f', call('INCR', KEYS[3]))
