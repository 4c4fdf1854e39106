-- The record of a key, whose row is locked if nobody else holds it; and then the time.
SELECT claimed_at, forget_at, record, answer FROM reprise_record WHERE digest = ? FOR UPDATE NOWAIT;
SELECT reprise_clock()
