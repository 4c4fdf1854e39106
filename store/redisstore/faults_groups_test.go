package redisstore

import (
	"slices"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faulttest"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store"
)

// What befalls one server of a group befalls those whose keys it has.
func TestFaultsInACluster(t *testing.T) {
	t.Parallel()
	faulttest.Run(t, faulttest.Kind{
		Harm: map[string]func(t *testing.T) (faulttest.Subject, []faulttest.Trouble){
			"cluster": func(t *testing.T) (faulttest.Subject, []faulttest.Trouble) {
				cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{})
				d := databaseOn(t, cluster.DSN())
				node := cluster.Nodes()[0]
				troubles := slices.DeleteFunc(faulttest.OfServer(node), func(tr faulttest.Trouble) bool { return tr.Name == "stopped" })
				for i, trouble := range troubles {
					troubles[i].End = func() {
						trouble.End()
						cluster.AwaitReady()
					}
				}
				return newGroupSubject(t, d), append(onceAccepted(t, d.dsn, troubles), ofMemory(t, node))
			},
		},
	})
}

// Behind Sentinel another server takes the place of the first.
func TestFaultsBehindSentinel(t *testing.T) {
	t.Parallel()
	faulttest.Run(t, faulttest.Kind{
		Harm: map[string]func(t *testing.T) (faulttest.Subject, []faulttest.Trouble){
			"group": func(t *testing.T) (faulttest.Subject, []faulttest.Trouble) {
				group := servicetest.NewSentinel(t, servicetest.SentinelOptions{})
				d := databaseOn(t, group.DSN())
				return newGroupSubject(t, d), onceAccepted(t, d.dsn, []faulttest.Trouble{ofSentinel(group)})
			},
		},
	})
}

// ofSentinel is a failover that loses nothing, as an administrator makes one who lets the replica catch up first.
func ofSentinel(group *servicetest.Sentinel) faulttest.Trouble {
	return faulttest.Trouble{Name: "failover", Begin: func() { handOver(group) }, End: func() {}}
}

// handOver makes the replica take the place of the master, without losing anything: the master takes no more writes, and the
// replica catches up.
func handOver(group *servicetest.Sentinel) {
	master := group.Master()
	master.Config("min-replicas-to-write", "9")
	group.Replicas()[0].AwaitSync(master)
	group.Failover()
	master.Config("min-replicas-to-write", "0")
}

// newGroupSubject is a store whose clock can be moved, on several servers. The clocks of those stay: they would not believe
// each other any more.
func newGroupSubject(t *testing.T, d *database) faulttest.Subject {
	advance := func(by time.Duration) {
		eventually(t, func() error { // on connections that may have ended
			for b := range Buckets {
				if err := d.client.Do(t.Context(), d.client.B().Exists().Key(d.names.generation(b)).Build()).Error(); err != nil {
					return err
				}
			}
			return nil
		})
		d.advance(by)
	}
	return faulttest.Subject{
		Open:    func() (store.Store, error) { return Open(t.Context(), d.dsn, d.options) },
		Advance: advance, Fades: true, Loses: true,
	}
}
