-- Claims a key for an effect by a row that nobody else sees before the end (1 row is affected), or takes the lock
-- of the row that is there and marks it (2). On MariaDB it waits for nobody.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
INSERT INTO reprise_record (made_at, digest, claimed_at, forget_at, effect, record) VALUES (?, ?, reprise_note(reprise_start()), 0, 1, ?)
ON DUPLICATE KEY UPDATE effect = effect % 2 + 1
