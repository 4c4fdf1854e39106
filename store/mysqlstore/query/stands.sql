-- What is committed.
SELECT effect, record FROM reprise_record WHERE digest = ?
