-- What every connection relies on, whatever is set for the server or its users: what does not fit is refused, and a process
-- that stops in the middle of a transaction is not waited for longer than $1 milliseconds; by MySQL, than a minute where that is less.
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', innodb_lock_wait_timeout = 10,
    /*M! idle_transaction_timeout = CEIL($1 / 1000), */
    wait_timeout = /*M! @@GLOBAL.wait_timeout */ /*!80000 GREATEST(60, CEIL($1 / 1000)) */
