-- The answer of an effect, in a transaction that is its caller's. Nothing is written if the action has ended the transaction, which only MariaDB tells.
UPDATE reprise_record FORCE INDEX (PRIMARY) SET claimed_at = ?, forget_at = ?, record = ?, answer = ?
WHERE made_at = ? AND digest = ? /*M! AND @@in_transaction = 1 */
