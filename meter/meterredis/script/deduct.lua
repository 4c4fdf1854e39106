-- Decides an event, as meter.Apply does: a fragment of an effect, in the script that keeps the operation's record.
--
-- KEYS  1 unit   2 policy 8   3 version of the line   4 its remaining allowance   5 its daily total
--       6 its daily usage by app   7 its daily and 8 its monthly shared usage
--       of a line in a family: 9 version of the family   10 its remaining allowance
-- ARGV  1 generation   2 stamp of the global policies   3 field of the unit with the stamp of the line's, 4 that stamp
--       5 field of the unit that is there if the month is open   6 bytes   7 how the fields of the app begin   8 family
--       9 why all is blocked or uncounted, or empty   10 cap of the line, 11 of the app and 12 of the shared allowance,
--       empty for none   13 slow if only the QoS allowance is used   14 speed of that   15 how the result begins
--       16 when it happened and 17 until when it is decided, in ms since 1970, empty if that does not matter
-- Reply the text of the result; without effect a reason of package meter, policies_changed, or unchecked if it
--       happened before the unit was hydrated, or it is too late
local call = redis.call
local unit = call('HMGET', KEYS[1], 'generation', 'phase', 'open', ARGV[5], ARGV[3], 'since')
local gate = call('HMGET', KEYS[2], 'open', 'stamp')
local texts = call('MGET', KEYS[3], KEYS[5])
local own = call('HMGET', KEYS[4], 'amount', 'qos')
local version, family = texts[1], ARGV[8]

local pool, usage = false, {false, false}
local function refusal()
	if gate[1] ~= 'yes' then
		return 'gate_closed'
	elseif not gate[2] then
		return 'policies_missing'
	elseif unit[1] ~= ARGV[1] or unit[2] ~= '3' then
		return 'unit_not_hydrated'
	elseif unit[3] ~= '1' then
		return 'unit_closed'
	elseif version == 'moved' then
		return 'line_moved'
	elseif not version then
		return 'unknown_line'
	elseif not unit[4] then
		return 'month_not_open'
	elseif gate[2] ~= ARGV[2] or (unit[5] or '') ~= ARGV[4] then
		return 'policies_changed'
	elseif not own[1] or not own[2] then
		return 'missing_allowance'
	elseif family == '' then
		if call('EXISTS', KEYS[7], KEYS[8]) > 0 then
			return 'missing_family_id'
		end
		return nil
	end
	pool = call('HGET', KEYS[10], 'amount')
	if not pool then
		return 'missing_allowance'
	end
	for i = 1, 2 do
		local found = call('HMGET', KEYS[6 + i], 'usage_amount', 'family_id')
		if found[1] or found[2] then
			if not found[2] or found[2] == '' then
				return 'missing_family_id'
			elseif found[2] ~= family then
				return 'other_family'
			end
			usage[i] = found[1]
		end
	end
	return nil
end

local reason = refusal()
if reason then
	return noEffect(reason)
end
if ARGV[16] ~= '' and unit[6] and tonumber(ARGV[16]) < tonumber(unit[6]) then
	return noEffect('unchecked')
end
if ARGV[17] ~= '' then
	local time = call('TIME')
	if time[1] * 1000 + math.floor(time[2] / 1000) > tonumber(ARGV[17]) then
		return noEffect('unchecked')
	end
end

local bytes, total, apps = ARGV[6], texts[2] or '0', nil
local daily, monthly = usage[1] or '0', usage[2] or '0'
if ARGV[11] ~= '' then
	apps = call('HMGET', KEYS[6], ARGV[7] .. 'individual', ARGV[7] .. 'shared', ARGV[7] .. 'qos')
end

-- Numbers of up to 15 digits, and the sum of a few, are exact as doubles. Longer ones stay texts, in two halves.
local short = true
for _, text in ipairs({bytes, own[1], own[2], pool or '0', total, daily, monthly, ARGV[10], ARGV[11], ARGV[12]}) do
	short = short and #text < 16
end
for i = 1, 3 do
	short = short and not (apps and apps[i] and #apps[i] > 15)
end

local number, text, less, atLeast, plus = tonumber, nil, nil, nil, nil
if short then
	text = function(a) return string.format('%.0f', a) end
	less = function(a, b) return a > b and a - b or 0 end
	atLeast = function(a, b) return a >= b end
	plus = function(a, b) return a + b end
else
	local MOST = '9223372036854775807'
	local function halves(a)
		return tonumber(string.sub(a, 1, -10)) or 0, tonumber(string.sub(a, -9))
	end
	local function whole(high, low)
		if high == 0 then
			return string.format('%d', low)
		end
		return string.format('%.0f', high) .. string.format('%09d', low)
	end
	number = function(a) return a end
	text = number
	atLeast = function(a, b)
		if #a ~= #b then
			return #a > #b
		end
		local ahigh, alow = halves(a)
		local bhigh, blow = halves(b)
		return ahigh > bhigh or ahigh == bhigh and alow >= blow
	end
	less = function(a, b)
		if not atLeast(a, b) then
			return '0'
		end
		local ahigh, alow = halves(a)
		local bhigh, blow = halves(b)
		if alow < blow then
			ahigh, alow = ahigh - 1, alow + 1000000000
		end
		return whole(ahigh - bhigh, alow - blow)
	end
	plus = function(a, b) -- nil if that is more than can be
		local ahigh, alow = halves(a)
		local bhigh, blow = halves(b)
		local high, low = ahigh + bhigh, alow + blow
		if low >= 1000000000 then
			high, low = high + 1, low - 1000000000
		end
		local sum = whole(high, low)
		return atLeast(MOST, sum) and sum or nil
	end
end

local zero = number('0')
local why = {}
local function capped(amount, limit, used, cause)
	if limit == '' then
		return amount
	end
	local left = less(number(limit), used)
	if atLeast(left, amount) then
		return amount
	end
	why[#why + 1] = cause
	return left
end
local function smaller(a, b)
	return atLeast(a, b) and b or a
end

local i, s, q, b, u = zero, zero, zero, zero, zero
local amount = number(bytes)
if ARGV[9] == 'uncounted' then
	u, why[1] = amount, ARGV[9]
elseif ARGV[9] ~= '' then
	b, why[1] = amount, ARGV[9]
else
	local rest = capped(amount, ARGV[10], number(total), 'line_cap')
	if apps then
		local used = zero
		for n = 1, 3 do
			used = used and plus(used, number(apps[n] or '0'))
		end
		rest = smaller(rest, capped(amount, ARGV[11], used or number('9223372036854775807'), 'app_cap'))
	end
	b = less(amount, rest)
	if rest ~= zero then
		if ARGV[13] ~= '' then
			why[#why + 1] = 'app_speed'
		else
			i = smaller(rest, number(own[1]))
			rest = less(rest, i)
			if pool then
				s = capped(smaller(rest, number(pool)), ARGV[12], number(monthly), 'shared_cap')
				rest = less(rest, s)
			end
			if rest ~= zero then
				why[#why + 1] = 'allowance_used'
			end
		end
		q = smaller(rest, number(own[2]))
		rest = less(rest, q)
		if rest ~= zero then
			b = plus(b, rest)
			why[#why + 1] = 'qos_used'
		end
	end
end

local parts = {{'individual', i}, {'shared', s}, {'qos', q}}
local served = plus(plus(i, s), q)
if not short then
	local counted = call('HMGET', KEYS[6], ARGV[7] .. 'individual', ARGV[7] .. 'shared', ARGV[7] .. 'qos')
	local fits = plus(total, served) and plus(daily, s) and plus(monthly, s)
	for n = 1, 3 do
		fits = fits and plus(counted[n] or '0', parts[n][2])
	end
	if not fits then
		return noEffect('overflow')
	end
end

-- From here on nothing is refused. What could fail if a counter were damaged comes first.
if served ~= zero then
	for n = 1, 3 do
		if parts[n][2] ~= zero then
			call('HINCRBY', KEYS[6], ARGV[7] .. parts[n][1], text(parts[n][2]))
		end
	end
	call('INCRBY', KEYS[5], text(served))
end
if i ~= zero then
	call('HINCRBY', KEYS[4], 'amount', '-' .. text(i))
end
if q ~= zero then
	call('HINCRBY', KEYS[4], 'qos', '-' .. text(q))
end
local familyVersion
if s ~= zero then
	call('HINCRBY', KEYS[10], 'amount', '-' .. text(s))
	for n = 7, 8 do
		call('HINCRBY', KEYS[n], 'usage_amount', text(s))
		call('HSET', KEYS[n], 'family_id', family)
	end
	familyVersion = call('INCR', KEYS[9])
end
local lineVersion = call('INCR', KEYS[3])

local answer = ARGV[15]
local function add(name, value)
	if value ~= zero then
		answer = answer .. ';' .. name .. '=' .. text(value)
	end
end
add('i', i)
add('s', s)
add('q', q)
add('b', b)
add('u', u)
if #why > 0 then
	answer = answer .. ';why=' .. table.concat(why, ',')
end
if q ~= zero and ARGV[14] ~= '' then
	answer = answer .. ';sp=' .. ARGV[14]
end
if family ~= '' then
	answer = answer .. ';f=' .. family
end
answer = answer .. ';lv=' .. string.format('%.0f', lineVersion)
if familyVersion then
	answer = answer .. ';fv=' .. string.format('%.0f', familyVersion)
end
return answer .. ';g=' .. ARGV[1]
