// Package servicetest gives tests real servers: PostgreSQL, alone or behind PgBouncer, MariaDB, and Redis,
// alone, with replicas, under Sentinel or as a Cluster.
//
// A test that needs a database asks for one on the server that all tests of its process share:
//
//	dsn := servicetest.Postgres(t).Database(t)
//	dsn := servicetest.MariaDB(t).Database(t)
//	dsn := servicetest.Redis(t).Database(t)
//
// A test that harms its server asks for one of its own, with [NewPostgres], [NewMariaDB] or [NewRedis]. It
// can be killed, paused, stopped, restarted and filled up. One of Redis can also be emptied, restored from
// an older dump, and followed by replicas that take its place, with all of its data or without the last.
// [NewSentinel] and [NewRedisCluster] start groups of such servers, which fail over by themselves or when
// they are told to.
//
// Servers run the programs that this machine has, on a free port of 127.0.0.1, in a temporary folder, as
// a user without privileges. Where a program is missing the test is skipped, and with CI=true it fails;
// both say what to install (packages.txt).
//
// # When servers end
//
// A server and its folder end with the test that asked for it, and a shared one with the test process.
// They do so too when that process is killed: a keeper (keeper.sh), a small shell of its own, waits
// for the end of a pipe that the test process holds, and cleans up.
//
// # Other servers
//
// REPRISE_TEST_POSTGRES names a PostgreSQL server that already runs, as a DSN of a role that may create
// databases. REPRISE_TEST_MYSQL names one of MariaDB or MySQL, as mysql://user:password@host:port/, of a user
// who may create databases. REPRISE_TEST_REDIS names a Redis server, as redis://user:password@host:port, of a
// user who may FLUSHDB; of its databases 1 to 15 those are used that are empty. Tests that need a server of
// their own are then skipped, and fail with CI=true.
//
// REPRISE_TEST_REDIS_SERVER is the program that is started wherever a Redis server is: a path, or a name on
// the path, of another version or of valkey-server. It leaves nothing out.
//
// # Adding a kind of server
//
// A kind is a file: what to write into the folder, which program to start, how to tell that it is ready
// ([process], [folder], [template]); a line in shared.go; its programs in packages.txt. This package
// needs a Unix.
package servicetest
