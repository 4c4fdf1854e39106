-- Whether an effect holds the key, and the time.
SELECT reprise_start(), (SELECT effect FROM reprise_record WHERE digest = ?)
