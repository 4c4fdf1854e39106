-- Claims a key for an effect by a row that nobody else sees before the end, or takes the lock of the row that
-- is there. On MariaDB it waits for nobody.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
INSERT INTO reprise_record (claimed_at, digest, forget_at, effect, record) VALUES (reprise_start(), ?, 0, 1, ?)
ON DUPLICATE KEY UPDATE forget_at = forget_at
