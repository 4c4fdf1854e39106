-- Lets others see that it is an effect that holds the key, or takes that back. Like what follows, it finds the row
-- by its place: above READ COMMITTED the server locks what lies beside a row that is found otherwise.
UPDATE reprise_record FORCE INDEX (PRIMARY) SET effect = ? WHERE made_at = ? AND digest = ?
