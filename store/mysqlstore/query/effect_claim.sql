-- Claims a key for an effect by a row that nobody else sees before the end (1 row is affected), or takes the lock
-- of the row that is there and marks it (2). On MariaDB it waits for nobody. A caller's session may be set so that the server need not look
-- at unique keys, which alone decide here.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0, unique_checks = 1 FOR */
INSERT /*+ SET_VAR(unique_checks = ON) */ INTO reprise_record (made_at, digest, claimed_at, forget_at, effect, record) VALUES (?, ?, reprise_note(reprise_start()), 0, 1, ?)
ON DUPLICATE KEY UPDATE effect = effect % 2 + 1
