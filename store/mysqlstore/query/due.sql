-- Locks records that are due, oldest first, but none that somebody holds.
SELECT digest FROM reprise_record FORCE INDEX (reprise_record_due)
WHERE forget_at > 0 AND forget_at <= reprise_start() ORDER BY forget_at LIMIT ? FOR UPDATE SKIP LOCKED
