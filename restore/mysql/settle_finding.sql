-- $1 finding, $2 outcome, $3 detail, $4 what was replaced.
UPDATE restore_findings SET outcome = $2, detail = $3, old = $4, settled_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) WHERE id = $1 AND settled_at = 0
