//go:build unix

package servicetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

func TestSentinelReplacesAMasterThatIsKilled(t *testing.T) {
	t.Parallel()
	group := servicetest.NewSentinel(t, servicetest.SentinelOptions{})
	wantDSN(t, group.DSN(), "redis+sentinel://app:", group.Sentinels(), "/mymaster/0")
	old := group.Master()
	do(t, dialRedis(t, old, old.DSN(0)), "SET", "order", "1")
	group.Replicas()[0].AwaitSync(old)

	lost := group.Sentinels()[0]
	lost.Kill() // two are enough
	old.Kill()
	master := group.AwaitFailover(old)
	wantValue(t, master, "order", "1")
	do(t, dialRedis(t, master, master.DSN(0)), "SET", "order", "2")

	old.Restart()
	lost.Restart()
	group.AwaitReady()
	wantValue(t, old, "order", "2")
	if group.Master() != master {
		t.Error("the old master is the master again")
	}
}

func TestSentinelReplacesAMasterThatIsPaused(t *testing.T) {
	t.Parallel()
	group := servicetest.NewSentinel(t, servicetest.SentinelOptions{Replicas: 2, Node: servicetest.RedisOptions{Persistence: servicetest.PersistNothing}})
	old := group.Master()
	late := dialRedis(t, old, old.DSN(0))
	old.Pause()
	master := group.AwaitFailover(old)
	if err := late.Send([]string{"SET", "order", "late"}); err != nil {
		t.Fatal(err)
	}
	old.Resume()
	if reply, err := late.Receive(); reply != "OK" || err != nil {
		t.Errorf("a master that does not know that it was replaced says %v, %v", reply, err)
	}
	group.AwaitReady()
	wantValue(t, master, "order", nil)
	wantValue(t, old, "order", nil) // what it acknowledged is lost
	if n := len(group.Replicas()); n != 2 {
		t.Errorf("%d replicas", n)
	}
}

func TestSentinelFailsOverAndBack(t *testing.T) {
	t.Parallel()
	group := servicetest.NewSentinel(t, servicetest.SentinelOptions{Patience: time.Minute, Node: servicetest.RedisOptions{TLS: true, Persistence: servicetest.PersistNothing}})
	wantDSN(t, group.AdminDSN(), "rediss+sentinel://default:", group.Sentinels(), "/mymaster/0")
	first := group.Master()
	run := first.Info()["run_id"]
	second := group.Failover()
	if again := group.Failover(); second == first || again != first {
		t.Error("it is not master again")
	}
	if now := first.Info()["run_id"]; now != run {
		t.Errorf("its run was %s and is %s", run, now)
	}
}

// wantDSN checks the DSN of several servers.
func wantDSN(t *testing.T, dsn, begin string, servers []*servicetest.RedisServer, end string) {
	t.Helper()
	var addresses []string
	for _, server := range servers {
		addresses = append(addresses, server.Addr())
	}
	_, rest, _ := strings.Cut(dsn, "@")
	if !strings.HasPrefix(dsn, begin) || rest != strings.Join(addresses, ",")+end {
		t.Errorf("the DSN is %s", dsn)
	}
}
