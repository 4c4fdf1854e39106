-- Appends an order to its customer's list: its place there is its number.
--
-- KEYS[1]  the list
-- ARGV[1]  the order, as JSON without a number
-- Reply    the order with its number: the answer
local id = redis.call('RPUSH', KEYS[1], ARGV[1])
return '{"id":' .. id .. ',' .. string.sub(ARGV[1], 2)
