//go:build unix

package servicetest_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// dialRedis connects to a DSN of a server, which must let it in.
func dialRedis(t *testing.T, server *servicetest.RedisServer, dsn string) *servicetest.RedisConn {
	t.Helper()
	conn, err := server.Dial(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// do sends a command that must be carried out, and returns the reply.
func do(t *testing.T, conn *servicetest.RedisConn, command ...string) any {
	t.Helper()
	reply, err := conn.Do(command...)
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return reply
}

// wantRefusal checks that Redis said no, with a certain code.
func wantRefusal(t *testing.T, err error, code string) {
	t.Helper()
	var said servicetest.RedisError
	if !errors.As(err, &said) || !strings.HasPrefix(string(said), code+" ") {
		t.Fatalf("want a refusal with %s, got %v", code, err)
	}
}

// mayBe is the value of a key of which nothing is promised.
const mayBe = "may be"

// wantValue checks what is stored under a key of database 0.
func wantValue(t *testing.T, server *servicetest.RedisServer, key string, want any) {
	t.Helper()
	if got := server.Do("GET", key); got != want && want != mayBe {
		t.Errorf("%s is %v, want %v", key, got, want)
	}
}

func TestEachTestHasARedisDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	server := servicetest.Redis(t)
	mine, other := dialRedis(t, server, server.Database(t)), dialRedis(t, server, server.Database(t))
	do(t, mine, "SET", "order", "1")
	if got := do(t, other, "GET", "order"); got != nil {
		t.Errorf("the database of another test has %v", got)
	}
	do(t, other, "FLUSHDB")
	if got := do(t, mine, "GET", "order"); got != "1" {
		t.Errorf("emptying a database left %v in another", got)
	}
}

func TestTheUserOfARedisDatabaseCannotHarmOthers(t *testing.T) {
	t.Parallel()
	if os.Getenv("REPRISE_TEST_REDIS") != "" {
		t.Skip("the user is that of REPRISE_TEST_REDIS")
	}
	server := servicetest.Redis(t)
	conn := dialRedis(t, server, server.Database(t))
	for _, command := range []string{"FLUSHALL", "SHUTDOWN", "SWAPDB 0 1", "CONFIG SET maxmemory 1", "SCRIPT FLUSH", "ACL LIST"} {
		_, err := conn.Do(strings.Fields(command)...)
		wantRefusal(t, err, "NOPERM")
	}
	do(t, conn, "SCRIPT", "LOAD", "return 1")
	do(t, conn, "INFO")
	do(t, conn, "WAIT", "0", "0")
}

func TestARedisDatabaseIsEmptiedAfterItsTest(t *testing.T) {
	t.Parallel()
	server := servicetest.Redis(t)
	var dsn string
	t.Run("test", func(t *testing.T) {
		dsn = server.Database(t)
		do(t, dialRedis(t, server, dsn), "SET", "order", "1")
	})
	if got := do(t, dialRedis(t, server, dsn), "GET", "order"); got != nil {
		t.Errorf("it still has %v", got)
	}
}

func TestWhatRedisKeepsOfWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		persistence servicetest.Persistence
		kill, stop  any // what is there after each
	}{
		{"always", servicetest.PersistAlways, "1", "1"},
		{"every second", servicetest.PersistEverySecond, mayBe, "1"},
		{"unsynced", servicetest.PersistUnsynced, "1", "1"},
		{"snapshots", servicetest.PersistSnapshots, nil, "1"},
		{"nothing", servicetest.PersistNothing, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: test.persistence})
			conn := dialRedis(t, server, server.DSN(0))
			do(t, conn, "SET", "order", "1")
			ended := server.Ended()
			server.Kill()
			<-ended
			if _, err := conn.Do("PING"); err == nil {
				t.Error("a killed server answers")
			}
			server.Restart()
			wantValue(t, server, "order", test.kill)

			server.Do("SET", "order", "1")
			address := server.Addr()
			server.Restart() // one that runs is stopped first
			wantValue(t, server, "order", test.stop)
			if server.Addr() != address {
				t.Errorf("the address was %s and is %s", address, server.Addr())
			}
		})
	}
}

func TestRedisFromAnOlderDumpAndFromNone(t *testing.T) {
	t.Parallel()
	for _, persistence := range []servicetest.Persistence{servicetest.PersistAlways, servicetest.PersistSnapshots, servicetest.PersistNothing} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: persistence})
			server.Do("SET", "order", "1")
			dump := server.Dump()
			server.Do("SET", "order", "2")
			server.RestartFrom(dump)
			wantValue(t, server, "order", "1")
			server.RestartFrom(servicetest.RedisDump{})
			wantValue(t, server, "order", nil)
			server.Do("SET", "order", "3")
			server.Stop()
			server.RestartFrom(dump)
			wantValue(t, server, "order", "1")
		})
	}
}
