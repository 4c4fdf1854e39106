-- Marks a record, so that whoever changes it tells, and reads its head. What is completed does not change.
--
-- KEYS  1 record
-- ARGV  1 how long a head is at most in bytes
-- Reply the beginning of the record, empty if there is none
local head = redis.call('GETRANGE', KEYS[1], 0, ARGV[1] - 1)
local STATES, COMPLETED = 8, 3
local first = string.byte(head)
if first and first < 128 and first % STATES ~= COMPLETED then
	redis.call('SETRANGE', KEYS[1], 0, string.char(first + 128))
end
return head
