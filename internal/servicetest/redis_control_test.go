//go:build unix

package servicetest_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

func TestAPausedRedisAnswersWhenItIsResumed(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistUnsynced})
	conn := dialRedis(t, server, server.DSN(0))
	server.Pause()
	if err := conn.Send([]string{"SET", "order", "1"}); err != nil {
		t.Fatal(err)
	}
	server.Resume()
	if reply, err := conn.Receive(); reply != "OK" || err != nil {
		t.Fatalf("got %v and %v", reply, err)
	}

	server.Pause()
	if err := conn.Send([]string{"SET", "order", "2"}); err != nil {
		t.Fatal(err)
	}
	server.Kill() // before it could do anything
	server.Restart()
	wantValue(t, server, "order", "1")
	server.Pause() // the end of the test ends it all the same
}

func TestRedisRefusesWritesBeyondItsMemory(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{
		Persistence: servicetest.PersistNothing,
		Settings:    map[string]string{"maxmemory": "8mb", "maxmemory-policy": "noeviction"},
	})
	conn := dialRedis(t, server, server.DSN(0))
	var err error
	for i := 0; err == nil && i < 100; i++ {
		_, err = conn.Do("SET", strconv.Itoa(i), strings.Repeat("x", 1<<20))
	}
	wantRefusal(t, err, "OOM")
	do(t, conn, "GET", "0") // what only reads is carried out
	server.FlushAll()
	do(t, conn, "SET", "0", "1")
	server.Config("maxmemory", "1")
	_, err = conn.Do("SET", "0", "2")
	wantRefusal(t, err, "OOM")
	wantValue(t, server, "0", "1")
}

func TestRedisUsersHaveTheRightsThatTheyAreGiven(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{
		Persistence: servicetest.PersistNothing,
		Users:       map[string]string{"reader": "~orders:* +get +select"},
	})
	server.Do("SET", "orders:1", "tea")
	reader := dialRedis(t, server, server.UserDSN("reader", 0))
	if got := do(t, reader, "GET", "orders:1"); got != "tea" {
		t.Errorf("got %v", got)
	}
	_, err := reader.Do("GET", "customers:1")
	wantRefusal(t, err, "NOPERM")
	_, err = reader.Do("SET", "orders:1", "coffee")
	wantRefusal(t, err, "NOPERM")

	_, err = server.Dial("redis://reader:guess@" + server.Addr())
	wantRefusal(t, err, "WRONGPASS")
	_, err = dialRedis(t, server, "redis://"+server.Addr()).Do("GET", "orders:1")
	wantRefusal(t, err, "NOAUTH")
	do(t, dialRedis(t, server, server.AdminDSN(3)), "CONFIG", "GET", "maxmemory")
}

func TestRedisWithTLS(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{TLS: true})
	do(t, dialRedis(t, server, server.DSN(0)), "SET", "order", "1")
	if !strings.HasPrefix(server.DSN(0), "rediss://") {
		t.Errorf("the DSN is %s", server.DSN(0))
	}
	if _, err := server.Dial(strings.Replace(server.DSN(0), "rediss:", "redis:", 1)); err == nil {
		t.Error("what is not encrypted is let in")
	}
	if _, err := os.Stat(server.CA()); err != nil {
		t.Error(err)
	}
	other := servicetest.NewRedis(t, servicetest.RedisOptions{TLS: true})
	if _, err := other.Dial(server.DSN(0)); err == nil {
		t.Error("a certificate of another authority is accepted")
	}
	wantValue(t, server.Replica(), "order", "1")
}

func TestRedisOnAFullDisk(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	for _, test := range []struct {
		name        string
		persistence servicetest.Persistence
		ends        bool
	}{{"synced", servicetest.PersistAlways, true}, {"unsynced", servicetest.PersistUnsynced, false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: test.persistence, DiskBytes: size})
			conn := dialRedis(t, server, server.DSN(0))
			do(t, conn, "SET", "order", "1")
			server.FillDisk()
			var err error
			for i := 0; err == nil && i < 100; i++ {
				_, err = conn.Do("SET", "filler", strings.Repeat("x", 1<<20))
			}
			if test.ends {
				<-server.Ended() // it says that it cannot go on, and ends
			} else {
				wantRefusal(t, err, "MISCONF")
			}
			server.FreeDisk()
			server.Restart()
			wantValue(t, server, "order", "1")
			do(t, dialRedis(t, server, server.DSN(0)), "SET", "order", "2")
		})
	}
}

func TestTheSharedRedisCannotBeHarmed(t *testing.T) {
	t.Parallel()
	recorded := &recorder{TB: t}
	server := servicetest.Redis(recorded)
	for name, harm := range map[string]func(){
		"Kill": server.Kill, "Stop": server.Stop, "Pause": server.Pause, "Restart": server.Restart,
		"FlushAll": server.FlushAll, "Config": func() { server.Config("maxmemory", "1") },
		"RestartFrom": func() { server.RestartFrom(servicetest.RedisDump{}) }, "Promote": server.Promote,
	} {
		recorded.errors = 0
		harm()
		if recorded.errors == 0 {
			t.Errorf("%s was carried out", name)
		}
	}
	do(t, dialRedis(t, server, server.Database(t)), "PING")
	if got := server.Version(); !strings.Contains(got, ".") {
		t.Errorf("the version is %q", got)
	}
}

// recorder counts the failures of a test instead of making it fail.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Errorf(string, ...any) { r.errors++ }
