-- $1 finding, $2 what is about to be replaced, $3 whether what was kept is the caller's own. What another has kept first stays: it may have replaced it.
UPDATE restore_findings SET old = $2 WHERE id = $1 AND (old IS NULL OR $3)
