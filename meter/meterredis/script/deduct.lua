-- Decides an event, as meter.Apply does: the first part of an effect, in the script that keeps the operation's record. What is
-- decided deduct_change.lua writes.
--
-- KEYS  1 version of the line   2 its daily total, both read with the record   3 unit   4 policy 8   5 remaining allowance of the line
--       6 its daily usage by app   7 its daily and 8 its monthly shared usage
--       of a line in a family: 9 version of the family   10 its remaining allowance
-- ARGV  1 generation   2 stamp of the global policies   3 field of the unit with the stamp of the line's, 4 that stamp
--       5 field of the unit that is there if the month is open   6 bytes   7 the app's field of individual usage   8 family
--       9 how the result begins   10 when it happened, in ms since 1970, or = and the unit's since, when the done log was asked
--       and has no row
--       11 what is unusual, empty for nothing; otherwise with commas between: why all is blocked or uncounted, cap of the line, of
--       the app and of the shared allowance, slow if only the QoS allowance is used, speed of that, until when it is decided in ms
--       since 1970; each may be empty   12 field of the unit with the number of the line's last move, below zero if it left
-- Reply the text of the result; without effect a reason of package meter, policies_changed, or unchecked if it
--       happened before the unit was hydrated and the done log was not asked since, or it is too late
local unit = read('HMGET', KEYS[3], 'generation', 'phase', 'open', ARGV[5], ARGV[3], 'since', ARGV[12])
local gate = read('HMGET', KEYS[4], 'open', 'stamp')
local own = read('HMGET', KEYS[5], 'amount', 'qos')
local version, family, granted, slowly = texts[1], ARGV[8], own[1], own[2]

if gate[1] ~= 'yes' then
	return noEffect('gate_closed')
elseif not gate[2] then
	return noEffect('policies_missing')
elseif unit[1] ~= ARGV[1] or unit[2] ~= '3' then
	return noEffect('unit_not_hydrated')
elseif unit[3] ~= '1' then
	return noEffect('unit_closed')
elseif version == 'moved' or unit[7] and string.byte(unit[7]) == 45 then -- it has left, also to another unit of the bucket
	return noEffect('line_moved')
elseif not version then
	return noEffect('unknown_line')
elseif not unit[4] then
	return noEffect('month_not_open')
elseif gate[2] ~= ARGV[2] or (unit[5] or '') ~= ARGV[4] then
	return noEffect('policies_changed')
elseif not granted or not slowly then
	return noEffect('missing_allowance')
end
local pool, daily, monthly = false, '0', '0'
if family == '' then
	if read('EXISTS', KEYS[7], KEYS[8]) ~= 0 then
		return noEffect('missing_family_id')
	end
else
	pool = read('HGET', KEYS[10], 'amount')
	if not pool then
		return noEffect('missing_allowance')
	end
	local found = read('HMGET', KEYS[7], 'usage_amount', 'family_id')
	for n = 7, 8 do
		if n == 8 then
			daily = found[1] or '0'
			found = read('HMGET', KEYS[8], 'usage_amount', 'family_id')
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
if string.byte(ARGV[10]) == 61 then
	if string.sub(ARGV[10], 2) ~= (unit[6] or '') then
		return noEffect('unchecked')
	end
elseif unit[6] and tonumber(ARGV[10]) < tonumber(unit[6]) then
	return noEffect('unchecked')
end
local all, lineCap, appCap, sharedCap, onlySlow, speed, deadline = '', '', '', '', '', '', ''
if ARGV[11] ~= '' then
	all, lineCap, appCap, sharedCap, onlySlow, speed, deadline = string.match(ARGV[11], '^([^,]*),([^,]*),([^,]*),([^,]*),([^,]*),([^,]*),([^,]*)$')
end
if deadline ~= '' then
	local time = read('TIME')
	if time[1] * 1000 + math.floor(time[2] / 1000) > tonumber(deadline) then
		return noEffect('unchecked')
	end
end

local bytes, total, individual, apps = ARGV[6], texts[2] or '0', ARGV[7], false
local inShared, inQoS -- fields of the app, when they are needed
local function fields()
	local app = string.sub(individual, 1, -#'individual' - 1)
	inShared, inQoS = app .. 'shared', app .. 'qos'
end
if appCap ~= '' then
	fields()
	apps = read('HMGET', KEYS[6], individual, inShared, inQoS)
end

-- Numbers of up to 15 digits, and the sums and differences of a few, are exact as doubles: most are. Longer ones stay texts.
local SHORT = 16
local short = #bytes < SHORT and #granted < SHORT and #total < SHORT and #version < SHORT
	and (family == '' or #pool < SHORT and #daily < SHORT and #monthly < SHORT) and #slowly < SHORT
	and (ARGV[11] == '' or #lineCap < SHORT and #appCap < SHORT and #sharedCap < SHORT)
	and not (apps and (#(apps[1] or '') >= SHORT or #(apps[2] or '') >= SHORT or #(apps[3] or '') >= SHORT))

local MOST = '9223372036854775807'
local why = ''
local i, s, q, b, u -- individual, shared, QoS, blocked and uncounted; texts, and false for none
if all ~= '' then
	why = ',' .. all
	if all == 'uncounted' then
		u = bytes
	else
		b = bytes
	end
elseif short and ARGV[11] == '' and tonumber(granted) >= tonumber(bytes) then
	i = bytes
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
		if onlySlow ~= '' then
			why = why .. ',app_speed'
		else
			single = tonumber(granted)
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
		slow = tonumber(slowly)
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
		if onlySlow ~= '' then
			why = why .. ',app_speed'
		else
			single = smaller(rest, granted)
			rest = less(rest, single)
			if pool then
				shared = capped(smaller(rest, pool), sharedCap, monthly, 'shared_cap')
				rest = less(rest, shared)
			end
			if rest ~= '0' then
				why = why .. ',allowance_used'
			end
		end
		slow = smaller(rest, slowly)
		rest = less(rest, slow)
		if rest ~= '0' then
			b, why = plus(b, rest), why .. ',qos_used'
		end
	end
	fields()
	local counted = read('HMGET', KEYS[6], individual, inShared, inQoS)
	if not plus(total, plus(plus(single, shared), slow)) or not plus(daily, shared) or not plus(monthly, shared)
		or not plus(counted[1] or '0', single) or not plus(counted[2] or '0', shared) or not plus(counted[3] or '0', slow) then
		return noEffect('overflow')
	end
	i, s, q, b = some(single), some(shared), some(slow), some(b)
end

-- The versions of line and family, after this.
local changed, pooled
if #version < 14 and not s then
	changed = version + 1
else
	local function after(count)
		local high, low = tonumber(string.sub(count, 1, -10)) or 0, tonumber(string.sub(count, -9)) + 1
		if low == 1000000000 then
			high, low = high + 1, 0
		end
		return high == 0 and string.format('%d', low) or string.format('%.0f%09d', high, low)
	end
	if s then
		pooled = read('GET', KEYS[9]) or '0'
	end
	if version == MOST or pooled == MOST then
		return noEffect('overflow')
	end
	changed, pooled = after(version), pooled and after(pooled)
end

local parts = ARGV[9]
if i then
	parts = parts .. ';i=' .. i
end
if i ~= bytes then
	if s then
		parts = parts .. ';s=' .. s
	end
	if q then
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
	if q and speed ~= '' then
		parts = parts .. ';sp=' .. speed
	end
	if (s or q) and not inQoS then
		fields()
	end
end
if family ~= '' then
	parts = parts .. ';f=' .. family
end
answer = parts .. ';lv=' .. changed .. (pooled and ';fv=' .. pooled or '') .. ';g=' .. ARGV[1]
