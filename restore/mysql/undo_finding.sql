-- $1 finding, $2 outcome, $3 detail.
UPDATE restore_findings SET outcome = $2, detail = $3 WHERE id = $1 AND (outcome = 'corrected' OR settled_at = 0)
