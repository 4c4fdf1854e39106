-- $1 session, $2 round, $3 number after which, $4 how many. Findings that were not judged for correction.
SELECT id, round, kind, item, outcome, detail FROM restore_findings WHERE session = $1 AND round = $2 AND settled_at = 0 AND id > $3 ORDER BY id LIMIT $4
