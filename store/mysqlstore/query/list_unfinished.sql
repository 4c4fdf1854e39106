-- As list.sql, of what is executing or abandoned. Entries of the index have the primary key in them: it is read through for each page, and no
-- row but those of the page.
SELECT r.digest, r.claimed_at, r.forget_at, r.record FROM (
    SELECT made_at, digest FROM reprise_record FORCE INDEX (reprise_record_due)
    WHERE forget_at = 0 AND digest > ? ORDER BY digest LIMIT ?
) AS page JOIN reprise_record AS r ON r.made_at = page.made_at AND r.digest = page.digest
ORDER BY r.digest
