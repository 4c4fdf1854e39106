package pipeline

import (
	"context"
	"maps"
	"slices"

	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// putChanged puts the policies of lines, with the families that they are in, that were changed in SQL after a hydration had read them. It comes after
// the lines were written: whoever changes a policy writes to Redis when SQL has it, and may have done so before they were, with what was older. One
// who changes it after it was read here again writes to Redis later, too.
func putChanged(ctx context.Context, ledger *meterledger.Ledger, m *meterredis.Meter, families map[string]string, h *meterredis.Hydration) error {
	now, err := ledger.Policies(ctx, slices.Collect(maps.Keys(families)))
	if err != nil {
		return err
	}
	for line, family := range families {
		if set := now.Lines[line]; !h.HasPolicies(line, set) {
			if err := m.PutLinePolicies(ctx, line, family, set); err != nil {
				return err
			}
		}
	}
	return nil
}
