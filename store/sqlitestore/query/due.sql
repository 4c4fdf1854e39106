-- Rows that are due, oldest first, after the place where the last batch ended.
SELECT forget_at, id, digest, record FROM reprise_record INDEXED BY reprise_record_due
WHERE forget_at IS NOT NULL AND forget_at <= ?1 AND (forget_at, id) > (?2, ?3) ORDER BY forget_at, id LIMIT ?4
