-- $1 session, $2 number before which, $3 how many. What was corrected and can be undone, the last first. What nobody has judged yet may have been, too: who kept
-- what was there has died, or was not answered.
SELECT id, kind, item, outcome, detail, old FROM restore_findings WHERE session = $1 AND id < $2 AND (outcome = 'corrected' OR settled_at = 0) AND old IS NOT NULL ORDER BY id DESC LIMIT $3
