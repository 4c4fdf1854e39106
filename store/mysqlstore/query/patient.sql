-- With no wait at all MariaDB fails at the end of a statement that has skipped a locked row.
SET SESSION innodb_lock_wait_timeout = 1
