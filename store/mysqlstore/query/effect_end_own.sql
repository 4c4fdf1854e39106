-- As effect_end.sql, in a transaction that was begun for the effect. The time comes with what is noted.
UPDATE reprise_record FORCE INDEX (PRIMARY) SET claimed_at = ?, forget_at = reprise_note(reprise_start() + ?), record = ?, answer = ?
WHERE made_at = ? AND digest = ? AND record = ? /*M! AND @@in_transaction = 1 */
