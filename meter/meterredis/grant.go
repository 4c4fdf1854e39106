package meterredis

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/meter"
)

//go:embed script/grant.lua
var grantLua string

// Granted says what became of a grant.
type Granted struct {
	Generation meter.Generation
	Version    int64 // of the owner, after it
	Replayed   bool
}

// Grant raises an allowance by a grant whose row SQL has already, once: its id is the operation. Family is that of the grant's
// line as whoever grants knows it, and empty for a grant to a family. A monthly grant to the owner of a unit, which is
// the family or the line in none, opens the month: make those of a family's lines first.
//
// Believed is the generation in which whoever grants has seen that the grant is not in Redis. In any other it is refused, because
// hydration may have counted it since: a caller that is paused between looking and granting grants nothing twice.
func (m *Meter) Grant(ctx context.Context, believed meter.Generation, g meter.Grant, family string) (Granted, error) {
	if err := g.Validate(); err != nil {
		return Granted{}, err
	}
	if g.Family != "" {
		family = g.Family
	}
	u := unitOf(g.Line, family)
	done, err := m.grant.Do(ctx, m.store, invocation(grantScope(g.ID, u), grantContent(g), m.horizon.Remembered()), m.grantKeys(g, u), m.grantArguments(believed, g, u, family)...)
	if err != nil {
		if err = understand(err); errors.Is(err, meter.OtherContent) {
			err = &meter.Refusal{Reason: meter.GrantedTwice, Field: "grant_id", Detail: fmt.Sprintf("%q is the id of another grant: choose a new one", g.ID)}
		}
		return Granted{}, err
	}
	version, err := strconv.ParseInt(string(done.Response.Data), 10, 64)
	return Granted{believed, version, done.Replayed}, err
}

// SettleGrants is told of grants that are confirmed in SQL, and of the families of their lines: from now on their records are
// remembered for as long as those of events, and the allowances expire when their month can change no more. Whoever grants looks into
// SQL first, and does not grant what is confirmed there.
func (m *Meter) SettleGrants(ctx context.Context, grants []meter.Grant, families map[string]string) error {
	digests, expiries := make([]machine.Digest, len(grants)), map[string]time.Time{}
	for i, g := range grants {
		family := g.Family
		if g.Line != "" {
			family = families[g.Line]
		}
		u := unitOf(g.Line, family)
		digests[i] = grantScope(g.ID, u).Digest
		if g.Family != "" {
			expiries[m.names.shared(u, g.Family, g.Month)] = m.MonthExpiry(g.Month)
		} else {
			expiries[m.names.individual(u, g.Line, g.Month)] = m.MonthExpiry(g.Month)
		}
	}
	return m.settle(ctx, digests, expiries)
}

func (m *Meter) grantKeys(g meter.Grant, u unit) []string {
	version, allowance := m.names.lineVersion(u, g.Line), m.names.individual(u, g.Line, g.Month)
	if g.Family != "" {
		version, allowance = m.names.familyVersion(u, g.Family), m.names.shared(u, g.Family, g.Month)
	}
	return []string{m.names.unit(u), m.names.policy(u.bucket, meter.Gate), version, allowance}
}

func (m *Meter) grantArguments(believed meter.Generation, g meter.Grant, u unit, family string) []string {
	owner, opens := "line", ""
	if g.Family != "" {
		owner = "family"
	}
	if g.Kind == meter.Monthly && (g.Family != "" || family == "") {
		opens = "opens"
	}
	args := []string{string(believed), g.Kind.String(), owner, openedField(g.Month), opens, movesField(g.Line)}
	if g.Family != "" {
		return append(args, fieldAmount, number(g.Shared))
	}
	return append(args, fieldAmount, number(g.Individual), fieldQoS, number(g.QoS))
}

// grantScope is where the record of a grant is.
func grantScope(id string, u unit) machine.Scope { return scope("grant", id, u) }

func grantContent(g meter.Grant) machine.Digest {
	content := []byte(g.Kind.String() + "\n" + g.Line + "\n" + g.Family + "\n" + g.Month.String())
	for _, n := range []int64{g.Individual, g.QoS, g.Shared} {
		content = binary.BigEndian.AppendUint64(content, uint64(n))
	}
	return sha256.Sum256(content)
}
