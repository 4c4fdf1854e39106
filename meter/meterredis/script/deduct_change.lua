-- Writes what deduct.lua has decided: the second part of the effect, with the names of the first. Nothing is refused here. What could
-- fail if a counter were damaged comes first.
if i then
	call('HINCRBY', KEYS[6], individual, i)
	call('HINCRBY', KEYS[5], 'amount', '-' .. i)
	call('INCRBY', KEYS[2], i)
end
if s then
	call('HINCRBY', KEYS[6], inShared, s)
	call('HINCRBY', KEYS[10], 'amount', '-' .. s)
	for n = 7, 8 do
		call('HINCRBY', KEYS[n], 'usage_amount', s)
		call('HSET', KEYS[n], 'family_id', family)
	end
	call('INCRBY', KEYS[2], s)
	call('INCR', KEYS[9])
end
if q then
	call('HINCRBY', KEYS[6], inQoS, q)
	call('HINCRBY', KEYS[5], 'qos', '-' .. q)
	call('INCRBY', KEYS[2], q)
end
call('INCR', KEYS[1])
