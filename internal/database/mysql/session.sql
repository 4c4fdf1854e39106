-- What every connection relies on, beside what internal/dsn/session.sql sets: what has to be waited for longer is begun again, and a process
-- that stops in the middle of a transaction is not waited for longer than $1 milliseconds; by MySQL, than a minute where that is less.
SET SESSION innodb_lock_wait_timeout = 10,
    /*M! idle_transaction_timeout = CEIL($1 / 1000), */
    wait_timeout = /*M! @@GLOBAL.wait_timeout */ /*!80000 GREATEST(60, CEIL($1 / 1000)) */
