SELECT id, record FROM reprise_record WHERE digest = ?
