SELECT digest, record FROM reprise_record INDEXED BY reprise_record_digest
WHERE digest > ? ORDER BY digest LIMIT ?
