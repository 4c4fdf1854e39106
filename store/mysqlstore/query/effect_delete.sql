DELETE r FROM reprise_record AS r FORCE INDEX (PRIMARY) WHERE made_at = ? AND digest = ?
