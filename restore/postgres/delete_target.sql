-- $1 target. It was split.
DELETE FROM reprise.restore_targets WHERE id = $1
