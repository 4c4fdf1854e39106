-- What holds a key has written to its row, and the time.
SELECT reprise_start(), effect, record FROM reprise_record WHERE digest = ?;
