package redisstore

import (
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// Users and their rights are each server's own: every one is asked, and none does what it is asked about.
func TestRightsOnEveryServer(t *testing.T) {
	t.Parallel()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Node: servicetest.RedisOptions{Persistence: servicetest.PersistNothing}})
	const here = "somewhere"
	calls := [][]string{{"SET", here, "v"}, {"GET", here}, {"SCRIPT", "LOAD", "return 1"}}
	lacks := func() []Lack {
		t.Helper()
		all, err := Lacks(t.Context(), cluster.DSN(), calls, Options{})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(all, func(a, b Lack) int { return slices.Compare(a.Call, b.Call) })
		return all
	}
	if all := lacks(); len(all) > 0 {
		t.Errorf("with all rights: %+v", all)
	}
	other, keys := cluster.Masters()[1], cluster.Masters()[2]
	other.Do("ACL", "SETUSER", "app", "-script|load", "-set")
	keys.Do("ACL", "SETUSER", "app", "resetkeys", "~nowhere")
	all := lacks()
	if len(all) != 4 {
		t.Fatalf("%+v", all)
	}
	for _, l := range all {
		want := Lack{Server: other.Addr(), Call: l.Call, Key: false}
		if l.Server == keys.Addr() {
			want = Lack{Server: keys.Addr(), Call: l.Call, Key: true}
		}
		if l.Server != want.Server || l.Key != want.Key || l.Unknown || l.Key && l.Call[0] == "SCRIPT" {
			t.Errorf("%+v", l)
		}
	}
	for _, master := range cluster.Masters() {
		if size := master.Do("DBSIZE"); size != int64(0) {
			t.Errorf("%v keys on %s", size, master.Addr())
		}
	}
}
