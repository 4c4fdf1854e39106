-- Whether a lock that was not had has ended the transaction.
SELECT @@innodb_rollback_on_timeout
