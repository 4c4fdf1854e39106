-- Writes a record in a row that is there, with the mark by which others see that it is an effect that holds the key. Like what
-- follows, it finds the row by its place: above READ COMMITTED the server locks what lies beside a row that is found otherwise.
UPDATE reprise_record FORCE INDEX (PRIMARY) SET claimed_at = ?, forget_at = ?, effect = ?, record = ?, answer = ? WHERE made_at = ? AND digest = ?
