-- Whether what an effect has written as its claim is there, in its transaction; outside of any only MariaDB tells.
SELECT count(*) FROM reprise_record WHERE made_at = ? AND digest = ? AND record = ? /*M! AND @@in_transaction = 1 */
