SELECT digest, record FROM reprise_record INDEXED BY reprise_record_open
WHERE state <> 3 AND digest > ? ORDER BY digest LIMIT ?
