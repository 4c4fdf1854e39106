-- Whether what an effect has written as its claim is there, in its transaction. That it is outside of any, as a savepoint is not where
-- nothing is committed by itself (autocommit), MariaDB tells.
SELECT count(*) FROM reprise_record WHERE made_at = ? AND digest = ? AND record = ? /*M! AND @@in_transaction = 1 */
