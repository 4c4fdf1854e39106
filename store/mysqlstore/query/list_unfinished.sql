-- As list.sql, of what is executing or abandoned.
SELECT digest, claimed_at, forget_at, record FROM reprise_record FORCE INDEX (reprise_record_due)
WHERE forget_at = 0 AND digest > ? ORDER BY digest LIMIT ?
