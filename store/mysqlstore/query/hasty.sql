-- As session.sql.
SET SESSION innodb_lock_wait_timeout = /*M! 0 */ /*!80000 1 */
