// Package mysqlstore keeps records in MariaDB or MySQL. Any number of processes on any number of machines may
// use a database, and a business write can commit together with its record: see [Do].
package mysqlstore
