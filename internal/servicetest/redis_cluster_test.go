//go:build unix

package servicetest_test

import (
	"fmt"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

func newRedisCluster(t *testing.T, replicas int, settings map[string]string) *servicetest.RedisCluster {
	t.Helper()
	return servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{
		Replicas: replicas, Node: servicetest.RedisOptions{Persistence: servicetest.PersistUnsynced, Settings: settings},
	})
}

func TestTheRedisServersOfAClusterShareTheSlots(t *testing.T) {
	t.Parallel()
	cluster := newRedisCluster(t, 0, nil)
	wantDSN(t, cluster.AdminDSN(), "redis+cluster://default:", cluster.Nodes(), "")
	masters := cluster.Masters()
	if len(masters) != 3 {
		t.Fatalf("%d masters", len(masters))
	}
	owner := cluster.Master("order")
	do(t, dialRedis(t, owner, owner.DSN(0)), "SET", "order", "1")
	to := masters[0]
	for _, other := range masters {
		if other != owner {
			_, err := dialRedis(t, other, other.DSN(0)).Do("GET", "order")
			wantRefusal(t, err, "MOVED")
			to = other
		}
	}
	_, err := dialRedis(t, owner, owner.DSN(0)).Do("MSET", "order", "1", "customer", "2")
	wantRefusal(t, err, "CROSSSLOT")
	moveSlot(t, cluster, owner, to)
}

// moveSlot moves the slot of the key order, among others.
func moveSlot(t *testing.T, cluster *servicetest.RedisCluster, from, to *servicetest.RedisServer) {
	t.Helper()
	for i := range 250 {
		from.Do("SET", fmt.Sprint("{order}", i), "tea")
	}
	client := dialRedis(t, from, from.DSN(0))
	move := cluster.BeginMove("order", to)
	do(t, client, "GET", "{order}1")
	_, err := client.Do("GET", "{order}new")
	wantRefusal(t, err, "ASK")
	move.MoveKeys()
	_, err = client.Do("GET", "{order}1")
	wantRefusal(t, err, "ASK")
	move.Finish()
	_, err = client.Do("GET", "{order}1")
	wantRefusal(t, err, "MOVED")
	wantValue(t, to, "{order}249", "tea")
	wantValue(t, to, "order", "1")
	if cluster.Master("order") != to {
		t.Error("it has not the slot")
	}
}

func TestOneRedisOfAClusterIsLostAndComesBackEmpty(t *testing.T) {
	t.Parallel()
	cluster := newRedisCluster(t, 0, map[string]string{"cluster-node-timeout": "500"}) // as long as it takes to come back
	owner := cluster.Master("order")
	owner.Do("SET", "order", "1")
	owner.Kill()
	for _, node := range cluster.Nodes() {
		if node != owner {
			cluster.AwaitState(node, "fail")
		}
	}
	owner.Restart()
	cluster.AwaitReady()
	wantValue(t, owner, "order", "1")
	owner.RestartFrom(servicetest.RedisDump{})
	cluster.AwaitReady()
	if cluster.Master("order") != owner {
		t.Error("it is not the master of its slots any more")
	}
	wantValue(t, owner, "order", nil)
}

func TestARedisClusterWithTLSFailsOverAndBack(t *testing.T) {
	t.Parallel()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{
		Replicas: 1, Node: servicetest.RedisOptions{Persistence: servicetest.PersistNothing, TLS: true},
	})
	wantDSN(t, cluster.DSN(), "rediss+cluster://app:", cluster.Nodes(), "")
	first := cluster.Master("order")
	first.Do("SET", "order", "1")
	run := first.Info()["run_id"]
	second := cluster.Failover("order")
	wantValue(t, second, "order", "1")
	if again := cluster.Failover("order"); again != first || second == first {
		t.Error("it is not the master again")
	}
	if now := first.Info()["run_id"]; now != run {
		t.Errorf("its run was %s and is %s", run, now)
	}
}

func TestARedisClusterReplacesAMasterThatIsKilled(t *testing.T) {
	t.Parallel()
	cluster := newRedisCluster(t, 1, nil)
	old, replica := cluster.Master("order"), cluster.Replicas("order")[0]
	old.Do("SET", "order", "1")
	replica.AwaitSync(old)
	replica.Unlink()
	old.Do("SET", "order", "2") // acknowledged, and lost
	old.Kill()
	if master := cluster.AwaitFailover("order", old); master != replica {
		t.Error("somebody else has its slots")
	}
	wantValue(t, replica, "order", "1")
	replica.Relink()
	old.Restart()
	cluster.AwaitReady()
	if replicas := cluster.Replicas("order"); len(replicas) != 1 || replicas[0] != old {
		t.Errorf("%d replicas, or others", len(replicas))
	}
}

func TestARedisClusterReplacesAMasterThatIsPaused(t *testing.T) {
	t.Parallel()
	cluster := newRedisCluster(t, 1, nil)
	old := cluster.Master("order")
	old.Pause()
	master := cluster.AwaitFailover("order", old)
	master.Do("SET", "order", "1")
	old.Resume()
	cluster.AwaitReady()
	_, err := dialRedis(t, old, old.DSN(0)).Do("SET", "order", "2")
	wantRefusal(t, err, "MOVED")
}
