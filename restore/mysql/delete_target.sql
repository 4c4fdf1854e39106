-- $1 target. It was split.
DELETE FROM restore_targets WHERE id = $1
