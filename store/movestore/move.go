package movestore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Notice is how far ahead the instant of a move must be announced: processes that know the previous store
// alone may make records that long without having seen it.
const Notice = time.Minute

// maxSkew is by how much the clocks of the two stores may differ.
const maxSkew = 10 * time.Second

// underWay is how long after the instant of a move a command that made a record before it may take to be committed, and
// so to be seen by whoever lists.
const underWay = 10 * time.Second

// ErrRefused is found in the error of two stores that one cannot be moved to the other.
var ErrRefused = errors.New("refused")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, args...))
}

// move is what the marks of two stores say of the move from one to the other.
type move struct {
	link machine.Digest  // names the move
	from machine.Instant // new keys are made in the primary store from then on; 0: not announced
	at   machine.Instant // the previous store's time
}

// made reports whether at an instant of the previous store all that will ever be made there can be seen.
func (m move) made(at machine.Instant) bool { return m.from != 0 && at >= m.from.Add(underWay) }

// of derives something that belongs to the move alone.
func (m move) of(what string, more ...byte) machine.Digest {
	return sha256.Sum256(append(append([]byte("reprise move "+what+"\n"), m.link[:]...), more...))
}

// ring is what a store knows of secrets, apart from marks, and the marks.
type ring struct {
	secrets []store.Secret
	marks   map[uint32]store.Secret
	at      machine.Instant
}

func readRing(ctx context.Context, keeper store.SecretKeeper) (ring, error) {
	known, at, err := keeper.Secrets(ctx)
	r := ring{marks: map[uint32]store.Secret{}, at: at}
	for _, k := range known {
		if k.IsMark() {
			r.marks[k.Version] = k
		} else {
			r.secrets = append(r.secrets, k)
		}
	}
	return r, err
}

// has reports whether the ring has a mark of a move.
func (r ring) has(mark uint32, link machine.Digest) bool { return r.marks[mark].Check == link }

// pair is the two stores of a move, as far as it is about secrets and marks.
type pair struct {
	primary, previous store.Store
	toward, away      store.SecretKeeper // of the primary and of the previous store
}

func newPair(primary, previous store.Store) (*pair, error) {
	p := &pair{primary: primary, previous: previous}
	for keeper, of := range map[*store.SecretKeeper]store.Store{&p.toward: primary, &p.away: previous} {
		var ok bool
		if *keeper, ok = store.As[store.SecretKeeper](of); !ok {
			return nil, fmt.Errorf("a store keeps no secrets: %w", store.ErrUnsupported)
		}
	}
	return p, nil
}

// read reads both rings, which must be of one move, with the same secrets. The primary store is read first: what it has was read in
// the previous one before.
func (p *pair) read(ctx context.Context) (toward, away ring, m move, err error) {
	if toward, err = readRing(ctx, p.toward); err == nil {
		away, err = readRing(ctx, p.away)
	}
	if err != nil {
		return toward, away, m, err
	}
	source, ok := away.marks[store.SourceMark]
	if !ok || !toward.has(store.CopyMark, source.Check) {
		// Whoever runs requests where a store cannot be asked must not take this for that: what had the marks had records.
		return toward, away, m, fmt.Errorf("%w: %w", store.ErrLost, refuse("the marks of the move are gone: the stores are not those that were opened, or one is as it was before"))
	}
	m = move{link: source.Check, from: away.marks[store.MovedMark].PrimaryFrom, at: away.at}
	return toward, away, m, sameSecrets(toward.secrets, away.secrets)
}

// findable refuses a primary store in which a version of the secret is retired that the previous one still has: its records would be copied,
// and nobody who has the primary store alone would look for them. Retiring sees the records of its own store only.
func (p *pair) findable(ctx context.Context) error {
	toward, away, _, err := p.read(ctx)
	if err != nil {
		return err
	}
	for _, k := range away.secrets {
		i := slices.IndexFunc(toward.secrets, func(o store.Secret) bool { return o.Version == k.Version })
		if k.Retired.IsZero() && !toward.secrets[i].Retired.IsZero() {
			return refuse("version %d of the secret was retired in the new store, and the old one has records under it that nobody would find there. "+
				"Keep both stores until it can be retired in the old one, too (reprise ops secret retire %d)", k.Version, k.Version)
		}
	}
	return nil
}

// link marks both stores as those of one move, unless they are already, and refuses those that cannot be. The primary
// store gets the secrets that it lacks.
func (p *pair) link(ctx context.Context) (m move, err error) {
	away, err := readRing(ctx, p.away)
	if err != nil {
		return m, err
	}
	toward, err := readRing(ctx, p.toward)
	if err != nil {
		return m, err
	}
	if err := fit(toward, away); err != nil {
		return m, err
	}
	source, ok := away.marks[store.SourceMark]
	if !ok {
		if source, err = p.markSource(ctx); err != nil {
			return m, err
		}
		if toward, err = readRing(ctx, p.toward); err != nil {
			return m, err
		}
	}
	if toward.has(store.SourceMark, source.Check) {
		return m, refuse("the two stores are one and the same")
	}
	if copied, ok := toward.marks[store.CopyMark]; !ok {
		if err := p.markCopy(ctx, toward, away, source); err != nil {
			return m, err
		}
	} else if copied.Check != source.Check {
		return m, refuse("the new store was filled from another store than this one: it is not empty. Choose an empty one")
	}
	_, _, m, err = p.agree(ctx)
	return m, err
}

// fit refuses what can be seen to be wrong before anything is written.
func fit(toward, away ring) error {
	source, isSource := toward.marks[store.SourceMark]
	switch {
	case isSource && away.has(store.CopyMark, source.Check):
		return refuse("the wrong way round: the new store is the one that the old one was filled from")
	case toward.marks[store.MovedMark].Version != 0:
		return refuse("the new store is itself moved to another one")
	case len(away.secrets) == 0:
		return refuse("the old store has never been used: it knows of no secret, so there is nothing to move")
	}
	if skew := toward.at.Sub(away.at).Abs(); skew > maxSkew {
		return refuse("the clocks of the two stores differ by %v: keep them together (NTP), so that leases and windows mean the same in both", skew)
	}
	if len(toward.secrets) > 0 {
		for _, k := range toward.secrets {
			i := slices.IndexFunc(away.secrets, func(o store.Secret) bool { return o.Version == k.Version })
			if i < 0 || away.secrets[i].Check != k.Check {
				return refuse("the new store was made under another secret: version %d is not one of the old store's", k.Version)
			}
		}
	}
	return nil
}

// markSource names the move in the previous store, unless another process does so at the same time.
func (p *pair) markSource(ctx context.Context) (store.Secret, error) {
	var link machine.Digest
	if _, err := rand.Read(link[:]); err != nil {
		return store.Secret{}, err
	}
	if err := p.away.AddSecret(ctx, store.Secret{Version: store.SourceMark, Check: link, Retired: 1}, 0); err != nil {
		return store.Secret{}, err
	}
	away, err := readRing(ctx, p.away)
	if err == nil && away.marks[store.SourceMark].Version == 0 {
		err = refuse("the old store did not keep the mark of the move")
	}
	return away.marks[store.SourceMark], err
}

// markCopy gives an empty primary store the secrets of the previous one, and then the mark.
func (p *pair) markCopy(ctx context.Context, toward, away ring, source store.Secret) error {
	lister, ok := store.As[store.Lister](p.primary)
	if !ok {
		return fmt.Errorf("the new store cannot be listed: %w", store.ErrUnsupported)
	}
	for cursor := ""; ; {
		page, err := lister.List(ctx, store.Filter{}, cursor, 1)
		if err != nil {
			return err
		}
		if len(page.Records)+len(page.Unreadable) > 0 {
			return p.linkedMeanwhile(ctx, source)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if err := p.bring(ctx, toward, away); err != nil {
		return err
	}
	return p.toward.AddSecret(ctx, store.Secret{Version: store.CopyMark, Check: source.Check, Retired: 1}, 0)
}

// linkedMeanwhile refuses a primary store that has records, unless another process has marked it since it was looked at: records are
// written after the mark.
func (p *pair) linkedMeanwhile(ctx context.Context, source store.Secret) error {
	toward, err := readRing(ctx, p.toward)
	if err == nil && !toward.has(store.CopyMark, source.Check) {
		err = refuse("the new store is not empty, and its records are no copies of the old store's: choose an empty one")
	}
	return err
}

// announce keeps in the previous store from when on new keys are made in the primary one, unless that is announced
// already.
func (p *pair) announce(ctx context.Context, from machine.Instant, ahead time.Duration) (move, error) {
	_, away, m, err := p.agree(ctx)
	if err != nil || m.from != 0 {
		return m, err
	}
	for _, k := range away.secrets {
		if k.Retired.IsZero() && k.PrimaryFrom > away.at.Add(-Notice) {
			return m, refuse("version %d of the secret becomes primary at %v: begin the move a minute after that", k.Version, k.PrimaryFrom)
		}
	}
	if from < away.at.Add(ahead) {
		return m, refuse("%v is too soon for the move: processes that have the old store alone learn of it within %v. Choose an instant after %v", from, ahead, away.at.Add(2*ahead))
	}
	mark := store.Secret{Version: store.MovedMark, Check: m.of("announced"), PrimaryFrom: from}
	if err := p.away.AddSecret(ctx, mark, ahead); err != nil {
		return m, err
	}
	if _, _, m, err = p.agree(ctx); err == nil && m.from == 0 {
		err = refuse("the old store did not keep the instant of the move")
	}
	return m, err
}
