DELETE FROM reprise_record WHERE digest = ?;
