package meterrestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
	"github.com/reprise-dev/reprise/store"
)

// Ready implements [restore.Plan].
func (p *Plan) Ready(ctx context.Context) error {
	err := p.rights(ctx, false)
	if err == nil {
		_, err = p.meter(ctx)
	}
	if err == nil || lost(err) {
		err = p.own(ctx)
	}
	return waited(err)
}

// rights returns an error if the user of Redis lacks something that a restore, or a drill, comes to later, with the gate closed.
func (p *Plan) rights(ctx context.Context, drill bool) error {
	lacks, err := meterredis.Rights(ctx, p.Redis, drill, p.Log)
	if err == nil && lacks != "" {
		err = fmt.Errorf("%w: %s", restore.ErrRefused, lacks)
	}
	return err
}

// own returns an error if Redis is another installation's. Of an own one the ledger has had a generation that is in it, whichever: also that of an
// older dump, and of what was lost in part, or renewed half-way. One that has none is empty. What is written without a fence asks it in the
// same call: between Ready and that, another Redis may have come to where the DSN leads.
func (p *Plan) own(ctx context.Context) error {
	if p.TakeOver {
		return nil
	}
	all, err := meterredis.Generations(ctx, p.Redis, p.Log)
	if err != nil || len(all) == 0 {
		return err
	}
	for _, g := range all {
		if had, err := p.Ledger.HadGeneration(ctx, g); err != nil || had {
			return err
		}
	}
	return fmt.Errorf("%w: this Redis has generation %q, which this ledger has never had: it is another installation's, or SQL is older than it. Nothing was done to it. "+
		"If it is the right one all the same: reprise restore start --take-over", restore.ErrOtherSystem, all[0])
}

// waited returns the error of a Redis that cannot be opened, unless it may be well again by itself: that is waited for.
func waited(err error) error {
	if refused(&err); errors.Is(err, restore.ErrRefused) || !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrIndeterminate) {
		return err
	}
	return nil
}

// refused says of an error that Redis lacks a right or a password, where it does.
func refused(err *error) {
	if meterredis.Refused(*err) {
		*err = fmt.Errorf("%w: give its user the rights that docs/operating.md lists, and try the same again: %w", restore.ErrRefused, *err)
	}
}

// lost reports whether an error says that Redis is not what it was, and not that it cannot be asked.
func lost(err error) bool {
	return errors.Is(err, store.ErrLost) || errors.Is(err, errNeverMade)
}
