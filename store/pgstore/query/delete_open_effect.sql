-- As delete_open.sql, by the transaction that began at $3, which has the key's lock, and by no other one.
DELETE FROM reprise.reprise_open WHERE head = $1 AND tail = $2 AND now() = $3
