-- Writes keys of a unit as they are to be, whatever was there, and then the unit itself. A unit that is no hash counts for nothing.
--
-- KEYS  1 unit   2 policy 8   3 generation of the bucket   4 fence of the bucket   then those that are to hold something   then those that
--       are not to be there, or not as they are: one that is to hold something too holds nothing else afterwards
-- ARGV  1 generation as bytes   2 generation as text   3 phase   4 whether it is the last phase, 1 or 0   5 since, in ms since 1970
--       6 epoch, empty for a write that no fence is asked about   7 what is there: 1 anything, and all keys of the unit are written; 0 what the
--       phase before has left, which stays; 2 nothing   8 digest of the unit's lines   9 how many months are open, and their fields   then, for each of the other keys,
--       how many words are for it, when it expires in ms since 1970 or 0 for never, and the words: none if it is not to be there, a text,
--       or names of fields with values   then fields of the unit itself, and their values
-- Reply 1  done
--       0  the unit is at this phase already, or past it: nothing was changed
--      -1  the gate is open
--      -2  the fence has another epoch, or is not there
--      -3  the bucket has another generation, or none
--      -4  the phase before has not left the unit so, or with other lines: nothing was changed
--      -5  something is there already: nothing was changed
local call = redis.call
if call('GET', KEYS[3]) ~= ARGV[1] then
	return -3
end
if ARGV[6] ~= '' and call('GET', KEYS[4]) ~= ARGV[6] then
	return -2
end
if call('HGET', KEYS[2], 'open') == 'yes' then
	return -1
end
local unit = {}
if call('TYPE', KEYS[1]).ok == 'hash' then -- another one is deleted below, as is what is there of a hash
	unit = call('HMGET', KEYS[1], 'generation', 'phase', 'lines')
end
local phase = unit[1] == ARGV[2] and tonumber(unit[2] or '0') or 0
if phase >= tonumber(ARGV[3]) then
	return 0
end
if ARGV[7] == '0' and (phase ~= ARGV[3] - 1 or unit[3] ~= ARGV[8]) then
	return -4
end
-- What Lua can take apart at once is limited: to about 8,000 words.
local function set(key, words, first, last)
	for i = first, last, 1000 do
		call('HSET', key, unpack(words, i, math.min(i + 999, last)))
	end
end
local last = 4 + ARGV[9]
if ARGV[7] == '2' then
	local there = call('EXISTS', KEYS[1])
	for i = 5, last, 1000 do
		there = there + call('EXISTS', unpack(KEYS, i, math.min(i + 999, last)))
	end
	if there > 0 then
		return -5
	end
end
for i = ARGV[7] == '1' and 5 or last + 1, #KEYS, 1000 do
	call('DEL', unpack(KEYS, i, math.min(i + 999, #KEYS)))
end
local fields = {'generation', ARGV[2], 'phase', ARGV[3], 'open', ARGV[4], 'since', ARGV[5]}
local at = 10
for i = 1, ARGV[at] do
	fields[#fields + 1] = ARGV[at + i]
	fields[#fields + 1] = '1'
end
at = at + ARGV[at] + 1
for i = 5, last do
	local words, expires = tonumber(ARGV[at]), ARGV[at + 1]
	if words > 1 then -- of a hash that is there no field goes away
		set(KEYS[i], ARGV, at + 2, at + words + 1)
		if expires ~= '0' then
			call('PEXPIREAT', KEYS[i], expires)
		end
	elseif expires ~= '0' then
		call('SET', KEYS[i], ARGV[at + 2], 'PXAT', expires)
	else
		call('SET', KEYS[i], ARGV[at + 2])
	end
	at = at + words + 2
end
for i = at, #ARGV do -- of the unit itself
	fields[#fields + 1] = ARGV[i]
end
if ARGV[4] == '0' then
	fields[#fields + 1] = 'lines'
	fields[#fields + 1] = ARGV[8]
elseif ARGV[7] == '0' then
	call('HDEL', KEYS[1], 'lines')
end
if ARGV[7] == '1' then
	call('DEL', KEYS[1])
end
set(KEYS[1], fields, 1, #fields)
return 1
