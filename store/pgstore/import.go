package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// importBatch is how many records one transaction imports. Each takes a lock of the server.
const importBatch = 500

// Import implements [store.Importer]. Records of keys that have none are written in one statement for many. The
// others are compared with what is there, and replaced one by one.
func (s *Store) Import(ctx context.Context, records []*machine.Record) ([]store.Import, error) {
	outcomes := make([]store.Import, 0, len(records))
	for len(records) > 0 {
		n := min(importBatch, len(records))
		part, err := s.importSome(ctx, records[:n])
		if err != nil {
			return nil, err
		}
		outcomes, records = append(outcomes, part...), records[n:]
	}
	return outcomes, nil
}

func (s *Store) importSome(ctx context.Context, records []*machine.Record) ([]store.Import, error) {
	batch := importing{records: records, outcomes: make([]store.Import, len(records))}
	err := s.errand(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		at, err := s.now(ctx, conn)
		if err != nil {
			return unsent(ctx, err)
		}
		batch.pack(at)
		if len(batch.places) == 0 {
			return nil
		}
		if err := s.insertAll(ctx, conn, &batch); err != nil {
			return sent(err)
		}
		return unsent(ctx, s.compareRest(ctx, conn, &batch))
	})
	if err != nil {
		return nil, err
	}
	for i, outcome := range batch.outcomes {
		if outcome == 0 {
			if batch.outcomes[i], err = s.importOne(ctx, records[i]); err != nil {
				return nil, err
			}
		}
	}
	return batch.outcomes, nil
}

// importing is a batch of records, of which some are written. What became of the others is not known yet (0).
type importing struct {
	records  []*machine.Record
	outcomes []store.Import

	// Of those that may be written: their places among the records, and their columns.
	places             []int
	heads, tails       pgtype.FlatArray[pgtype.UUID]
	locks              []int64
	answered           []bool
	claimedAt          []int64
	forgetAt           []*machine.Instant
	packed, theAnswers [][]byte
}

// pack fills the columns.
func (b *importing) pack(at machine.Instant) {
	for i, r := range b.records {
		if b.outcomes[i] = store.JudgeImport(nil, r, at); b.outcomes[i] != store.ImportWritten {
			continue
		}
		b.outcomes[i] = 0
		packed := form.Pack(form.OfNoGeneration(r))
		b.places = append(b.places, i)
		b.heads, b.tails = append(b.heads, head(r.Scope.Digest)), append(b.tails, tail(r.Scope.Digest))
		b.locks, b.answered = append(b.locks, lockOf(r.Scope.Digest)), append(b.answered, packed.Answered)
		b.claimedAt, b.forgetAt = append(b.claimedAt, int64(packed.ClaimedAt)), append(b.forgetAt, orNull(packed.ForgetAt))
		b.packed, b.theAnswers = append(b.packed, packed.Record), append(b.theAnswers, packed.Answer)
	}
}

// insertAll writes those whose keys are free and have no record, in one transaction and one round trip.
func (s *Store) insertAll(ctx context.Context, conn *pgx.Conn, batch *importing) error {
	var written []int
	b := &pgx.Batch{}
	b.Queue(beginSQL)
	if s.address.bouncer { // else the session has all that
		b.Queue(s.sql.transaction)
		b.Queue("SET LOCAL " + idleSetting + " = " + s.idle())
	}
	b.Queue(s.sql.importLock, batch.locks)
	b.Queue(s.sql.importMany, batch.heads, batch.tails, batch.locks, batch.answered, batch.claimedAt, batch.forgetAt, batch.packed, batch.theAnswers).
		Query(func(rows pgx.Rows) (err error) {
			written, err = pgx.CollectRows(rows, pgx.RowTo[int])
			return err
		})
	b.Queue("COMMIT")
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		letGo(ctx, conn)
		return err
	}
	for _, i := range written {
		place := batch.places[i-1]
		batch.outcomes[place] = store.ImportWritten
		s.imported(batch.records[place].Scope.Digest)
	}
	return nil
}

// imported notes that a record is another one now.
func (s *Store) imported(digest machine.Digest) {
	s.memory.Drop(digest)
	s.watchers.wake(digest)
}

// compareRest finds those that need not be written because of what is there. Committed records tell it as well as
// locked ones.
func (s *Store) compareRest(ctx context.Context, conn *pgx.Conn, batch *importing) error {
	var heads, tails pgtype.FlatArray[pgtype.UUID]
	var places []int
	for _, place := range batch.places {
		if batch.outcomes[place] == 0 {
			digest := batch.records[place].Scope.Digest
			heads, tails, places = append(heads, head(digest)), append(tails, tail(digest)), append(places, place)
		}
	}
	if len(places) == 0 {
		return nil
	}
	rows, err := conn.Query(ctx, s.sql.lookMany, heads, tails)
	if err != nil {
		return err
	}
	var i int
	var now pgtype.Timestamptz
	var answered pgtype.Bool
	var claimedAt, forgetAt pgtype.Int8
	var packed, answer []byte
	_, err = pgx.ForEachRow(rows, []any{&i, &now, &answered, &claimedAt, &forgetAt, &packed, &answer}, func() error {
		r := batch.records[places[i-1]]
		if packed == nil {
			return nil
		}
		there, err := unpack(r.Scope.Digest, form.Row{Answered: answered.Bool, ClaimedAt: machine.Instant(claimedAt.Int64), ForgetAt: machine.Instant(forgetAt.Int64), Record: packed, Answer: answer})
		if err != nil {
			return err
		}
		if outcome := store.JudgeImport(there, r, machine.InstantOf(now.Time)); outcome != store.ImportWritten {
			batch.outcomes[places[i-1]] = outcome
		}
		packed, answer = nil, nil
		return nil
	})
	return err
}

// importOne imports a record under its key's lock. It waits for a key that is held.
func (s *Store) importOne(ctx context.Context, r *machine.Record) (store.Import, error) {
	for wait := gather.NewBackoff(); ; {
		outcome, err := s.importHeld(ctx, r)
		if !errors.Is(err, errBusy) {
			return outcome, err
		}
		if !wait.Sleep(ctx) {
			return 0, store.Unavailable(errors.Join(context.Cause(ctx), err))
		}
	}
}

func (s *Store) importHeld(ctx context.Context, r *machine.Record) (outcome store.Import, err error) {
	err = s.errand(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		h, err := s.hold(ctx, conn, r.Scope.Digest)
		if err != nil {
			return unsent(ctx, err)
		}
		if outcome = store.JudgeImport(h.record, r, h.at); outcome != store.ImportWritten {
			letGo(ctx, conn)
			return nil
		}
		b := &pgx.Batch{}
		s.queueChange(b, h, r.Scope.Digest, form.OfNoGeneration(r))
		b.Queue("COMMIT")
		if err := runToCommit(ctx, conn, b); err != nil {
			return sent(err)
		}
		s.imported(r.Scope.Digest)
		return nil
	})
	return outcome, err
}
