-- The answer of an effect, in a transaction that is its caller's. Nothing is written if the claim is not there, because the action has ended
-- the transaction. That it has done so by a commit only MariaDB tells in time; on MySQL the answer is then written after what it is for.
UPDATE reprise_record FORCE INDEX (PRIMARY) SET claimed_at = ?, forget_at = ?, record = ?, answer = ?
WHERE made_at = ? AND digest = ? AND record = ? /*M! AND @@in_transaction = 1 */
