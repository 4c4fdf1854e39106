package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/store/movestore"
)

// parsePlaces reads the store of a configuration, or the two of a move; previous is nil for one.
func parsePlaces(c config.Store) (primary, previous *place, err error) {
	if primary, err = parsePlace(c.Primary); err != nil || c.Previous == "" {
		return primary, nil, err
	}
	if previous, err = placeOf("store.previous", c.Previous); err != nil {
		return nil, nil, err
	}
	if primary.class == inMemory || previous.class == inMemory {
		return nil, nil, usageError{errors.New("store: memory: is the memory of one process, and records cannot move to or from it")}
	}
	return primary, previous, nil
}

// withPrevious is a place as people see it while records move to it.
func withPrevious(primary, previous *place) *place {
	if previous == nil {
		return primary
	}
	shown := *primary
	shown.shown = fmt.Sprintf("%v (previous: %v)", primary, previous)
	return &shown
}

// firstOf returns the place whose secret counts: that of the previous store, which the new one was made with.
func firstOf(previous, primary *place) *place {
	if previous != nil {
		return previous
	}
	return primary
}

// openBoth opens the two stores of a move as one. Both must be there.
func openBoth(ctx context.Context, primary, previous *place, from time.Time, log *slog.Logger) (*openedStore, error) {
	old, err := previous.openStore(ctx, mayMigrate)
	if err != nil {
		return nil, fmt.Errorf("store.previous: %w", err)
	}
	now, err := primary.openStore(ctx, mayMigrate)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store.primary: %w", err), old.Close())
	}
	asked, cancel := asking(ctx)
	defer cancel()
	both, err := movestore.Open(asked, now, old, movestore.Options{From: from})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store: %w", err), now.Close(), old.Close())
	}
	log.Info("records move: keys are looked for in the previous store first, and new ones are made in the primary store from an instant on; processes that have the previous store alone must have ended by then",
		"primary", primary.String(), "primary-from", both.From())
	return &openedStore{Store: both, place: withPrevious(primary, previous)}, nil
}
