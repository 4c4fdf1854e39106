package meterrestore

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/restore"
)

// contradictions are units of which no state follows from SQL, because what it says of them does not fit together, each with what is
// wrong. A restore leaves them closed, in quarantine, until SQL is put right.
type contradictions map[string]error

// contradictions looks for them in a range, as SQL is now: whoever restored, and when, does not matter.
func (p *Plan) contradictions(ctx context.Context, r meterledger.Range, now time.Time) (contradictions, error) {
	held, err := p.read(ctx, r, now)
	if err != nil {
		return nil, err
	}
	if _, err := meter.Rebuild(held.Source); err == nil {
		return nil, nil
	}
	bad := contradictions{}
	for _, tag := range sortedTags(pipeline.UnitsOf(held)) {
		alone, err := p.read(ctx, meterledger.Unit(tag), now)
		if err != nil {
			return nil, err
		}
		if _, wrong := meter.Rebuild(alone.Source); wrong != nil {
			bad[tag] = wrong
		}
	}
	return bad, nil
}

// judge judges what was found of a unit: of one of these nothing else can be expected.
func (c contradictions) judge(tag string, f restore.Finding) restore.Finding {
	if wrong, bad := c[tag]; bad {
		f.Outcome, f.Detail = restore.Quarantined, fmt.Sprintf("unit %s cannot be restored: %v; %s", tag, wrong, f.Detail)
	}
	return f
}
