-- Adds dead letters of events from the inbox, each once: whoever adds them removes them from the inbox afterwards, and may stop in between.
--
-- KEYS  1 dead letters
-- ARGV  1 from which id on they can be there   then, of each, its number in the inbox, the event, the reason and a detail
-- Reply how many were added
local PAGE = 500
local event, left = {}, 0 -- by number, of those that are not there
for i = 2, #ARGV, 4 do
	event[ARGV[i]] = ARGV[i + 1]
	left = left + 1
end
local last = '+'
while last and left > 0 do
	local page = redis.call('XREVRANGE', KEYS[1], last, ARGV[1], 'COUNT', PAGE)
	for _, letter in ipairs(page) do
		local says = {}
		for i = 1, #letter[2], 2 do
			says[letter[2][i]] = letter[2][i + 1]
		end
		if says.inbox and event[says.inbox] == says.event then
			event[says.inbox] = nil
			left = left - 1
		end
	end
	last = #page == PAGE and '(' .. page[PAGE][1]
end
for i = 2, #ARGV, 4 do
	if event[ARGV[i]] then
		redis.call('XADD', KEYS[1], '*', 'event', ARGV[i + 1], 'reason', ARGV[i + 2], 'detail', ARGV[i + 3], 'inbox', ARGV[i])
		event[ARGV[i]] = nil
	end
end
return left
