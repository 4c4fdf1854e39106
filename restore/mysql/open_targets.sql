-- $1 session, $2 phase. Whether there are targets that are neither done nor failed.
SELECT count(*) FROM (SELECT 1 FROM restore_targets FORCE INDEX (restore_targets_claim) WHERE session = $1 AND phase = $2 AND takeable = TRUE LIMIT 1) AS q
