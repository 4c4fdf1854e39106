-- Whether what an effect has written as its claim is there after its transaction.
SELECT count(*) FROM reprise_record WHERE made_at = ? AND digest = ? AND record = ?
