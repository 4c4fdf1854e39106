-- What every connection of the store relies on, whatever is set for the server, its users or in their
-- configuration files. A lock that somebody holds is not waited for: MariaDB knows that as no wait at all,
-- MySQL as one second. A transaction that this process does not go on with is ended by the server.
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', autocommit = 1,
    innodb_lock_wait_timeout = /*M! 0 */ /*!80000 1 */, /*M! idle_transaction_timeout = ?, */
    wait_timeout = /*M! @@GLOBAL.wait_timeout */ /*!80000 60 */;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
