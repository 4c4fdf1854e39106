-- $1 session, $2 phase. Whether there are targets that are neither done nor failed.
SELECT count(*) FROM (SELECT 1 FROM reprise.restore_targets WHERE session = $1 AND phase = $2 AND state IN ('pending', 'processing', 'retryable') LIMIT 1) AS q
