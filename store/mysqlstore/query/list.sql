-- A page of all records in the order of their digests.
SELECT digest, claimed_at, forget_at, record FROM reprise_record FORCE INDEX (reprise_record_digest)
WHERE digest > ? ORDER BY digest LIMIT ?
