DELETE FROM reprise_record WHERE id = ?
