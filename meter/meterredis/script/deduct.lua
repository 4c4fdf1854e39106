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

if gate[1] ~= 'yes' then
	return noEffect('gate_closed')
elseif not gate[2] then
	return noEffect('policies_missing')
elseif unit[1] ~= ARGV[1] or unit[2] ~= '3' then
	return noEffect('unit_not_hydrated')
elseif unit[3] ~= '1' then
	return noEffect('unit_closed')
elseif version == 'moved' then
	return noEffect('line_moved')
elseif not version then
	return noEffect('unknown_line')
elseif not unit[4] then
	return noEffect('month_not_open')
elseif gate[2] ~= ARGV[2] or (unit[5] or '') ~= ARGV[4] then
	return noEffect('policies_changed')
elseif not own[1] or not own[2] then
	return noEffect('missing_allowance')
end
local pool, daily, monthly = false, '0', '0'
if family == '' then
	if call('EXISTS', KEYS[7], KEYS[8]) > 0 then
		return noEffect('missing_family_id')
	end
else
	pool = call('HGET', KEYS[10], 'amount')
	if not pool then
		return noEffect('missing_allowance')
	end
	local found = call('HMGET', KEYS[7], 'usage_amount', 'family_id')
	for n = 7, 8 do
		if n == 8 then
			daily = found[1] or '0'
			found = call('HMGET', KEYS[8], 'usage_amount', 'family_id')
		end
		if found[1] or found[2] then
			if not found[2] or found[2] == '' then
				return noEffect('missing_family_id')
			elseif found[2] ~= family then
				return noEffect('other_family')
			end
		end
	end
	monthly = found[1] or '0'
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

local bytes, total, apps = ARGV[6], texts[2] or '0', false
local lineCap, appCap, sharedCap = ARGV[10], ARGV[11], ARGV[12]
if appCap ~= '' then
	apps = call('HMGET', KEYS[6], ARGV[7] .. 'individual', ARGV[7] .. 'shared', ARGV[7] .. 'qos')
end

-- Numbers of up to 15 digits, and the sums and differences of a few, are exact as doubles: most are. Longer ones stay texts.
local SHORT = 16
local short = #bytes < SHORT and #own[1] < SHORT and #own[2] < SHORT and #total < SHORT and #daily < SHORT and #monthly < SHORT
	and #lineCap < SHORT and #appCap < SHORT and #sharedCap < SHORT and (not pool or #pool < SHORT)
	and not (apps and (#(apps[1] or '') >= SHORT or #(apps[2] or '') >= SHORT or #(apps[3] or '') >= SHORT))

local why = ''
local i, s, q, b, u -- individual, shared, QoS, blocked and uncounted; texts, and false for none
if ARGV[9] ~= '' then
	why = ',' .. ARGV[9]
	if ARGV[9] == 'uncounted' then
		u = bytes
	else
		b = bytes
	end
elseif short then
	local amount = tonumber(bytes)
	local rest = amount
	if lineCap ~= '' then
		local left = lineCap - total
		if left < amount then
			rest, why = left > 0 and left or 0, why .. ',line_cap'
		end
	end
	if apps then
		local left = appCap - (apps[1] or 0) - (apps[2] or 0) - (apps[3] or 0)
		if left < amount then
			why = why .. ',app_cap'
			left = left > 0 and left or 0
			rest = left < rest and left or rest
		end
	end
	local blocked, slow = amount - rest, 0
	local single, shared = 0, 0
	if rest > 0 then
		if ARGV[13] ~= '' then
			why = why .. ',app_speed'
		else
			single = tonumber(own[1])
			single = single < rest and single or rest
			rest = rest - single
			if pool then
				shared = tonumber(pool)
				shared = shared < rest and shared or rest
				if sharedCap ~= '' then
					local left = sharedCap - monthly
					left = left > 0 and left or 0
					if left < shared then
						shared, why = left, why .. ',shared_cap'
					end
				end
				rest = rest - shared
			end
			if rest > 0 then
				why = why .. ',allowance_used'
			end
		end
		slow = tonumber(own[2])
		slow = slow < rest and slow or rest
		rest = rest - slow
		if rest > 0 then
			blocked, why = blocked + rest, why .. ',qos_used'
		end
	end
	if single == amount then
		i = bytes
	else
		i = single > 0 and string.format('%.0f', single)
		s = shared > 0 and string.format('%.0f', shared)
		q = slow > 0 and string.format('%.0f', slow)
		b = blocked > 0 and string.format('%.0f', blocked)
	end
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
	local function atLeast(a, b)
		if #a ~= #b then
			return #a > #b
		end
		local ahigh, alow = halves(a)
		local bhigh, blow = halves(b)
		return ahigh > bhigh or ahigh == bhigh and alow >= blow
	end
	local function less(a, b)
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
	local function plus(a, b) -- nil if that is more than can be
		local ahigh, alow = halves(a)
		local bhigh, blow = halves(b)
		local high, low = ahigh + bhigh, alow + blow
		if low >= 1000000000 then
			high, low = high + 1, low - 1000000000
		end
		local sum = whole(high, low)
		return atLeast(MOST, sum) and sum or nil
	end
	local function smaller(a, b)
		return atLeast(a, b) and b or a
	end
	local function capped(amount, limit, used, cause)
		if limit == '' then
			return amount
		end
		local left = less(limit, used)
		if atLeast(left, amount) then
			return amount
		end
		why = why .. ',' .. cause
		return left
	end
	local function some(amount)
		return amount ~= '0' and amount
	end

	local rest = capped(bytes, lineCap, total, 'line_cap')
	if apps then
		local used = '0'
		for n = 1, 3 do
			used = used and plus(used, apps[n] or '0')
		end
		rest = smaller(rest, capped(bytes, appCap, used or MOST, 'app_cap'))
	end
	b = less(bytes, rest)
	local single, shared, slow = '0', '0', '0'
	if rest ~= '0' then
		if ARGV[13] ~= '' then
			why = why .. ',app_speed'
		else
			single = smaller(rest, own[1])
			rest = less(rest, single)
			if pool then
				shared = capped(smaller(rest, pool), sharedCap, monthly, 'shared_cap')
				rest = less(rest, shared)
			end
			if rest ~= '0' then
				why = why .. ',allowance_used'
			end
		end
		slow = smaller(rest, own[2])
		rest = less(rest, slow)
		if rest ~= '0' then
			b, why = plus(b, rest), why .. ',qos_used'
		end
	end
	local counted = call('HMGET', KEYS[6], ARGV[7] .. 'individual', ARGV[7] .. 'shared', ARGV[7] .. 'qos')
	if not plus(total, plus(plus(single, shared), slow)) or not plus(daily, shared) or not plus(monthly, shared)
		or not plus(counted[1] or '0', single) or not plus(counted[2] or '0', shared) or not plus(counted[3] or '0', slow) then
		return noEffect('overflow')
	end
	i, s, q, b = some(single), some(shared), some(slow), some(b)
end

-- From here on nothing is refused. What could fail if a counter were damaged comes first.
local parts = '' -- of the result, beside how it begins and ends
if i then
	call('HINCRBY', KEYS[6], ARGV[7] .. 'individual', i)
	call('HINCRBY', KEYS[4], 'amount', '-' .. i)
	call('INCRBY', KEYS[5], i)
	parts = ';i=' .. i
end
if i ~= bytes then
	if s then
		call('HINCRBY', KEYS[6], ARGV[7] .. 'shared', s)
		call('HINCRBY', KEYS[10], 'amount', '-' .. s)
		for n = 7, 8 do
			call('HINCRBY', KEYS[n], 'usage_amount', s)
			call('HSET', KEYS[n], 'family_id', family)
		end
		call('INCRBY', KEYS[5], s)
		parts = parts .. ';s=' .. s
	end
	if q then
		call('HINCRBY', KEYS[6], ARGV[7] .. 'qos', q)
		call('HINCRBY', KEYS[4], 'qos', '-' .. q)
		call('INCRBY', KEYS[5], q)
		parts = parts .. ';q=' .. q
	end
	if b then
		parts = parts .. ';b=' .. b
	end
	if u then
		parts = parts .. ';u=' .. u
	end
	if why ~= '' then
		parts = parts .. ';why=' .. string.sub(why, 2)
	end
	if q and ARGV[14] ~= '' then
		parts = parts .. ';sp=' .. ARGV[14]
	end
end
if family ~= '' then
	parts = parts .. ';f=' .. family
end
local changed = call('INCR', KEYS[3])
if changed >= 100000000000000 then -- else it is exact as it is written by itself
	changed = string.format('%.0f', changed)
end
if s then
	changed = changed .. ';fv=' .. string.format('%.0f', call('INCR', KEYS[9]))
end
return ARGV[15] .. parts .. ';lv=' .. changed .. ';g=' .. ARGV[1]
