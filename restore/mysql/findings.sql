-- $1 session, $2 number after which, $3 how many.
SELECT id, round, kind, item, outcome, detail FROM restore_findings WHERE session = $1 AND id > $2 ORDER BY id LIMIT $3
