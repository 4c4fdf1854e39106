-- The answer of an effect. Nothing is written if the action has ended the transaction, which only MariaDB tells.
UPDATE reprise_record SET claimed_at = ?, forget_at = ?, effect = 0, record = ?, answer = ?
WHERE digest = ? /*M! AND @@in_transaction = 1 */
