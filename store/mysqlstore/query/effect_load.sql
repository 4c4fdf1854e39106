-- The record of a key whose row's lock is held, and the time.
SELECT reprise_start(), claimed_at, forget_at, record, answer FROM reprise_record WHERE digest = ? FOR UPDATE
