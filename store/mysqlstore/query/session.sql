-- What every connection of the store relies on, beside what every connection does (internal/dsn/session.sql). A lock that somebody holds is
-- not waited for: MariaDB knows that as no wait at all, MySQL as one second. A transaction that this process does not go on with is ended by
-- the server.
SET SESSION innodb_lock_wait_timeout = /*M! 0 */ /*!80000 1 */, /*M! idle_transaction_timeout = ?, */
    wait_timeout = /*M! @@GLOBAL.wait_timeout */ /*!80000 60 */;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
