-- The record of a key, whose row is locked if it has one and nobody else holds it, and the time. Below REPEATABLE
-- READ that locks nothing beside the row; if there is none, nothing at all.
SELECT reprise_start(), made_at, effect, claimed_at, forget_at, record, answer FROM reprise_record WHERE digest = ? FOR UPDATE NOWAIT
