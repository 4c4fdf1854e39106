package mysqlstore

import (
	"context"
	"errors"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

const (
	// importBatch is how many records one transaction imports, and importBytes about how large they may be.
	importBatch = 500
	importBytes = 2 << 20
)

// Import implements [store.Importer]. Records of keys that have none are written in one statement for many. Where
// some have one, all of the batch are compared with what is there, and the others written one by one.
func (s *Store) Import(ctx context.Context, records []*machine.Record) ([]store.Import, error) {
	outcomes := make([]store.Import, 0, len(records))
	for len(records) > 0 {
		n := importSize(records)
		part, err := s.importSome(ctx, records[:n])
		if err != nil {
			return nil, err
		}
		outcomes, records = append(outcomes, part...), records[n:]
	}
	return outcomes, nil
}

// importSize returns how many of some records go into the next transaction.
func importSize(records []*machine.Record) int {
	size := 0
	for i, r := range records[:min(importBatch, len(records))] {
		if size += len(r.Response.Data); i > 0 && size > importBytes {
			return i
		}
	}
	return min(importBatch, len(records))
}

func (s *Store) importSome(ctx context.Context, records []*machine.Record) ([]store.Import, error) {
	outcomes := make([]store.Import, len(records))
	err := s.errand(ctx, func(c *conn) error {
		var at int64
		if err := c.readOne(ctx, s.sql.now.with(), &at); err != nil {
			return unsent(ctx, err)
		}
		var due []int // places of those that may be written
		for i, r := range records {
			if outcomes[i] = store.JudgeImport(nil, r, machine.Instant(at)); outcomes[i] == store.ImportWritten {
				due = append(due, i)
			}
		}
		if len(due) == 0 {
			return nil
		}
		err := s.insertAll(ctx, c, records, due)
		if err == nil || !own(err) && !tooLarge(err) {
			return sent(err)
		}
		for _, i := range due {
			outcomes[i] = 0 // not known yet
		}
		return unsent(ctx, s.compareAll(ctx, c, records, due, outcomes))
	})
	for i := 0; i < len(outcomes) && err == nil; i++ {
		if outcomes[i] == 0 {
			outcomes[i], err = s.importOne(ctx, records[i])
		}
	}
	return outcomes, err
}

// insertAll writes records of keys that have none.
func (s *Store) insertAll(ctx context.Context, c *conn, records []*machine.Record, due []int) error {
	_, err := c.exec(ctx, s.sql.importMany.with(rows{len(due), func(i int, w *writing) {
		r := records[due[i]]
		packed := form.Pack(form.OfNoGeneration(r))
		w.bytes(r.Scope.Digest[:])
		w.number(int64(packed.ClaimedAt))
		w.number(int64(packed.ForgetAt))
		w.bytes(packed.Record)
		w.bytes(packed.Answer)
	}}))
	if err == nil {
		for _, i := range due {
			s.imported(records[i].Scope.Digest)
		}
	}
	return err
}

// imported notes that a record is another one now.
func (s *Store) imported(digest machine.Digest) {
	s.memory.Drop(digest)
	s.watchers.wake(digest)
}

// compareAll finds those that need not be written because of what is there. Committed records tell it as well as
// locked ones.
func (s *Store) compareAll(ctx context.Context, c *conn, records []*machine.Record, due []int, outcomes []store.Import) error {
	keys := make([]machine.Digest, len(due))
	for n, i := range due {
		keys[n] = records[i].Scope.Digest
	}
	found, at, err := s.lookAt(ctx, c, keys)
	if err != nil {
		return err
	}
	for n, i := range due {
		row := found[keys[n]]
		if row == nil {
			continue
		}
		there, err := form.Unpack(keys[n], *row)
		if err != nil {
			return err
		}
		if outcome := store.JudgeImport(there, records[i], at); outcome != store.ImportWritten {
			outcomes[i] = outcome
		}
	}
	return nil
}

// importOne imports a record under its key's lock. It waits for a key that is held.
func (s *Store) importOne(ctx context.Context, r *machine.Record) (store.Import, error) {
	for wait := gather.NewBackoff(); ; {
		var outcome store.Import
		err := s.errand(ctx, func(c *conn) (err error) {
			outcome, err = s.importOn(ctx, c, r)
			return err
		})
		if !errors.Is(err, errBusy) {
			return outcome, err
		}
		if !wait.Sleep(ctx) {
			return 0, store.Unavailable(errors.Join(context.Cause(ctx), err))
		}
	}
}

func (s *Store) importOn(ctx context.Context, c *conn, r *machine.Record) (outcome store.Import, err error) {
	written := false
	defer func() {
		if !written {
			s.letGo(ctx, c)
		}
	}()
	h, err := s.hold(ctx, c, r.Scope.Digest)
	if err != nil {
		return 0, s.notWritten(ctx, err)
	}
	if outcome = store.JudgeImport(h.record, r, h.at); outcome != store.ImportWritten {
		return outcome, nil
	}
	if !h.stands {
		if err := s.holdAbsent(ctx, c, h); err != nil {
			return 0, s.notWritten(ctx, err)
		}
		if outcome = store.JudgeImport(nil, r, h.at); outcome != store.ImportWritten {
			return outcome, nil
		}
	}
	result, err := c.exec(ctx, s.change(h, form.OfNoGeneration(r)))
	switch {
	case err != nil && held(err):
		return 0, errBusy
	case err != nil:
		return 0, sent(err)
	}
	if written = true; result.AllRowsAffected()[0] != 1 {
		return 0, sent(errMoved)
	}
	s.imported(h.digest)
	return outcome, nil
}

// notWritten translates an error of what comes before anything is written; that a key is held stays as it is.
func (s *Store) notWritten(ctx context.Context, err error) error {
	if errors.Is(err, errBusy) {
		return err
	}
	return unsent(ctx, err)
}
