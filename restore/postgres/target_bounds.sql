-- $1 session. The numbers of its first and last target.
SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM reprise.restore_targets WHERE session = $1
