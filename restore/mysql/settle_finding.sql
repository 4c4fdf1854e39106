-- $1 finding, $2 outcome, $3 detail.
UPDATE restore_findings SET outcome = $2, detail = $3, settled_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) WHERE id = $1 AND settled_at = 0
