//go:build unix

package servicetest_test

import (
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

func newRedisPair(t *testing.T) (master, replica *servicetest.RedisServer) {
	t.Helper()
	master = servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistUnsynced})
	master.Do("SET", "order", "1")
	return master, master.Replica()
}

func TestARedisReplicaIsPromoted(t *testing.T) {
	t.Parallel()
	master, replica := newRedisPair(t)
	wantValue(t, replica, "order", "1")
	_, err := dialRedis(t, replica, replica.DSN(0)).Do("SET", "order", "2")
	wantRefusal(t, err, "READONLY")
	master.Do("SET", "order", "2")
	replica.AwaitSync(master)
	master.Kill()
	replica.Promote()
	wantValue(t, replica, "order", "2")
	do(t, dialRedis(t, replica, replica.DSN(0)), "SET", "order", "3")
	master.Restart()
	master.Follow(replica.Addr())
	wantValue(t, master, "order", "3")
}

func TestAFailoverOfRedisThatLosesWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	master, replica := newRedisPair(t)
	replica.Unlink()
	do(t, dialRedis(t, master, master.DSN(0)), "SET", "order", "2")
	wantValue(t, replica, "order", "1")
	master.Kill()
	replica.Promote()
	replica.Relink()
	wantValue(t, replica, "order", "1")
	master.Restart()
	wantValue(t, master, "order", "2")
	master.Follow(replica.Addr())
	wantValue(t, master, "order", "1")
}

func TestARedisReplicaCatchesUpWhenItIsLinkedAgain(t *testing.T) {
	t.Parallel()
	master, replica := newRedisPair(t)
	replica.Unlink()
	master.Do("SET", "order", "2")
	replica.Relink()
	replica.AwaitSync(master)
	wantValue(t, replica, "order", "2")
}

func TestRedisHandsOverAndBack(t *testing.T) {
	t.Parallel()
	first, second := newRedisPair(t)
	run := first.Info()["run_id"]
	first.HandOver(second)
	_, err := dialRedis(t, first, first.DSN(0)).Do("SET", "order", "2")
	wantRefusal(t, err, "READONLY")
	do(t, dialRedis(t, second, second.DSN(0)), "SET", "order", "2")
	second.HandOver(first)
	do(t, dialRedis(t, first, first.DSN(0)), "SET", "order", "3")
	if now := first.Info()["run_id"]; now != run {
		t.Errorf("its run was %s and is %s", run, now)
	}
}
