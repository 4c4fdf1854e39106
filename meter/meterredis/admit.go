package meterredis

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

//go:embed script/admit.lua
var admitLua string

// Admit lets in lines that were added to SQL after the units were hydrated, so that they can be granted something. Whole says
// that nobody in the unit was ever granted anything that Redis knows of: then the unit is made. Otherwise it has to be there. It is
// for lines of which SQL has neither a row nor a confirmed grant; what is in Redis already it leaves.
func (m *Meter) Admit(ctx context.Context, unit Members, whole bool) error {
	w := m.writing(unit)
	u, g := w.unit, m.store.Generation(w.unit.tag)
	keys := []string{m.names.unit(u), m.names.policy(u.bucket, meter.Gate), m.store.GenerationKey(u.tag)}
	if unit.Family != "" {
		keys = append(keys, m.names.familyVersion(u, unit.Family))
	}
	for _, line := range unit.Lines {
		keys = append(keys, m.names.lineVersion(u, line))
	}
	fresh := ""
	if whole {
		fresh = "new"
	}
	n, err := m.admit.Exec(ctx, m.client, keys, []string{rueidis.BinaryString(g[:]), string(m.generationOf(u)), fresh}).AsInt64()
	switch {
	case err != nil:
		return store.Indeterminate(fmt.Errorf("let in the unit %s: it can be let in again: %w", u.tag, err))
	case n == -3:
		return fmt.Errorf("%w: the bucket of the unit %s has another generation than this process knows, or none", store.ErrLost, u.tag)
	case n == -1:
		return &meter.Refusal{Reason: meter.GateClosed, Detail: "nobody is let in until the gate is open"}
	case n == 0:
		return &meter.Refusal{Reason: meter.UnitNotHydrated, Detail: fmt.Sprintf("the unit %s is not complete and open in this generation: hydrate or restore it", u.tag)}
	}
	return nil
}
