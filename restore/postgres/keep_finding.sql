-- $1 finding, $2 what is about to be replaced. What was kept first stays.
UPDATE reprise.restore_findings SET old = $2 WHERE id = $1 AND old IS NULL
