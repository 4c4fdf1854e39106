-- $1 session, $2 number after which, $3 how many.
SELECT id, at, kind, who, detail FROM restore_events WHERE session = $1 AND id > $2 ORDER BY id LIMIT $3
