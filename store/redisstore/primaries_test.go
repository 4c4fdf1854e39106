package redisstore

import (
	"errors"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// What is said of the whole store is said of all its servers: while one does not answer nothing is counted, nobody is accepted, and no
// scan begins. A replica that is away has nothing of its own.
func TestAServerThatIsAwayIsMissed(t *testing.T) {
	t.Parallel()
	node := servicetest.RedisOptions{Persistence: servicetest.PersistNothing}
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Replicas: 1, Node: node})
	d := databaseOn(t, cluster.DSN())
	s := d.open()
	d.answer(s, 30, "answer")
	replica := cluster.Replicas(d.names.generation(0))[0]
	replica.Kill()
	counts, err := s.Count(t.Context())
	if err != nil || counts.States[machine.Completed] != 30 {
		t.Fatalf("without a replica: %+v, %v", counts, err)
	}

	unchecked, err := openUnchecked(d.dsn, d.options) // as acts of an operator do: it talks to replicas, too
	if err != nil {
		t.Fatal(err)
	}
	defer unchecked.client.Close()
	before, err := unchecked.identities(t.Context())
	if err != nil || len(before) != 3 {
		t.Fatalf("%v, %v; want those of three primaries", before, err)
	}
	master := cluster.Master(d.names.generation(0))
	master.Kill() // nobody takes its place
	for name, ask := range map[string]func() error{
		"who is accepted": func() error { _, err := unchecked.identities(t.Context()); return err },
		"all records":     func() error { return unchecked.noRecords(t.Context()) },
		"how many keys":   func() error { _, err := s.keys(t.Context()); return err },
		"all keys":        func() error { _, err := s.Primaries(t.Context()); return err },
	} {
		if err := ask(); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", name, err, store.ErrUnavailable)
		}
	}
	if n, err := s.anyPrimary(t.Context()); err != nil || !slices.Contains(before, n.String()) {
		t.Errorf("whoever needs one primary has %v, %v", n, err)
	}
}
