package meterrestore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// A drill finds nothing on what fits together, and leaves the keys that live as they are, to the byte and the millisecond of their expiry,
// and no others.
func TestDrill(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 60)
	stop := p.work()
	p.send(p.events(200))
	if _, err := p.ledger.Fold(t.Context(), meterledger.FoldOptions{}); err != nil {
		t.Fatal(err)
	}
	p.send(p.events(200))
	stop()
	before := p.keys()
	drilled, err := p.plan().Drill(t.Context())
	if err != nil || len(drilled.Findings) > 0 || drilled.Units != 45 || drilled.Keys == 0 {
		t.Errorf("%+v, %v", drilled, err)
	}
	if after := p.keys(); !slices.Equal(before, after) {
		t.Errorf("%d keys became %d", len(before), len(after))
	}
	p.audit()
}

// keys are all of the server's, each with its contents and when it expires.
func (p *plant) keys() (all []string) {
	p.t.Helper()
	conn, err := p.server.Dial(p.server.AdminDSN(1))
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	names, err := conn.Do("KEYS", "*")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range names.([]any) {
		dump, err := conn.Do("DUMP", name.(string))
		if err != nil {
			p.t.Fatal(err)
		}
		expires, err := conn.Do("PEXPIRETIME", name.(string)) // DUMP leaves it out
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s until %d: %s", name, expires, dump))
	}
	slices.Sort(all)
	return all
}
