package reprise

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// SecretNotice is how far ahead a new version of the secret must be announced.
//
// No claim makes a record later than half of it after the store's versions were read, by the store's
// own clock (see [ring.bound]). So when a version becomes primary, nobody can still make records under the
// one before, however late a claim arrives and however long its process was stopped. The other half is for
// an announcement that takes its time to be committed.
const SecretNotice = time.Minute

// ringFresh is the age from which a view is renewed in the background, so that callers do not wait for it.
const ringFresh = SecretNotice / 6

// ring is a guard's view of the versions of the secret that live in the store.
type ring struct {
	secrets *Secrets
	keeper  store.SecretKeeper
	timeout time.Duration
	log     *slog.Logger
	spawn   func(func()) // runs something in the background, within the guard's life
	life    context.Context

	asking     singleflight.Group
	view       atomic.Pointer[ringView]
	refreshing atomic.Bool
}

type ringView struct {
	versions []ringVersion // living, by rising version
	askedAt  time.Time     // on the local monotonic clock, before the store was asked
}

// ringVersion is a version and when records are made under it.
type ringVersion struct {
	key          *secretKey
	from, before machine.Instant
}

// current returns a view to prepare with. One that is too old makes no record, and is then renewed; see
// [Guard.Do]. Until that it may find what is recorded.
func (r *ring) current(ctx context.Context, now time.Time) (*ringView, error) {
	v := r.view.Load()
	switch {
	case v == nil || now.Sub(v.askedAt) >= SecretNotice/2:
		return r.refresh(ctx)
	case now.Sub(v.askedAt) >= ringFresh && r.refreshing.CompareAndSwap(false, true):
		r.spawn(func() {
			defer r.refreshing.Store(false)
			_, _ = r.refresh(r.life) // a failure shows when the view is too old
		})
	}
	return v, nil
}

// refresh asks the store, whose view is the one that counts. Callers that come together ask once, and get
// one answer.
func (r *ring) refresh(ctx context.Context) (*ringView, error) {
	asked := r.asking.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(r.life, r.timeout)
		defer cancel()
		return r.ask(ctx)
	})
	select {
	case <-ctx.Done():
		return nil, &Error{Kind: ErrUnavailable, Cause: context.Cause(ctx)}
	case answer := <-asked:
		if answer.Err != nil {
			return nil, answer.Err
		}
		return answer.Val.(*ringView), nil
	}
}

func (r *ring) ask(ctx context.Context) (*ringView, error) {
	v := &ringView{askedAt: time.Now()}
	known, at, err := r.keeper.Secrets(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	if added, err := r.announce(ctx, known, at); err != nil {
		return nil, err
	} else if added {
		if known, at, err = r.keeper.Secrets(ctx); err != nil {
			return nil, unavailable(err)
		}
	}
	if v.versions, err = r.match(known, at); err != nil {
		return nil, err
	}
	r.view.Store(v)
	return v, nil
}

// announce tells the store of versions that it does not know. An empty store begins with the version
// that is primary now; older ones have made no record in it.
func (r *ring) announce(ctx context.Context, known []store.Secret, at machine.Instant) (added bool, err error) {
	newest := machine.Instant(-1)
	for _, k := range known {
		newest = max(newest, k.PrimaryFrom)
	}
	keys := r.secrets.keys
	if len(known) == 0 {
		for len(keys) > 1 && keys[1].secret.PrimaryFrom <= at {
			keys = keys[1:]
		}
	}
	for _, key := range keys {
		if find(known, key.secret.Version) != nil || key.secret.PrimaryFrom <= newest {
			continue
		}
		if err := r.keeper.AddSecret(ctx, key.secret, SecretNotice); err != nil {
			return added, secretError(err)
		}
		added = true
	}
	return added, nil
}

// match compares what the store knows with what this process knows, at the store's time. A store with a
// version unknown here has records that this process would take for new keys, or will have them.
func (r *ring) match(known []store.Secret, at machine.Instant) ([]ringVersion, error) {
	var live []ringVersion
	for _, k := range known {
		if !k.Retired.IsZero() {
			continue
		}
		if len(live) > 0 {
			live[len(live)-1].before = k.PrimaryFrom
		}
		if k.Version == store.MovedMark {
			return r.moving(live, k, at)
		}
		key := r.secrets.version(k.Version)
		if key == nil && at < k.PrimaryFrom && len(live) > 0 {
			r.log.Warn("reprise: the store knows of a secret version that this process does not: add it to the secret file before it becomes primary",
				"version", k.Version, "primary-from", k.PrimaryFrom.String())
			return r.bound(live, at), nil
		}
		if err := fits(k, key); err != nil {
			return nil, err
		}
		live = append(live, ringVersion{key: key, from: k.PrimaryFrom})
	}
	if len(live) == 0 {
		return nil, secretMismatch("every secret version that the store knows is retired: announce a new version")
	}
	return r.bound(live, at), nil
}

// moving is match for a store whose new keys are soon, or already, made in another one, which this process does not
// know: it can go on until then, and no longer.
func (r *ring) moving(live []ringVersion, mark store.Secret, at machine.Instant) ([]ringVersion, error) {
	if at >= mark.PrimaryFrom || len(live) == 0 {
		return nil, secretMismatch("the store is moved: since %v new keys are made in another one. Start this process with both, as store.primary and store.previous, or with the new one alone", mark.PrimaryFrom)
	}
	r.log.Warn("reprise: the store is being moved: restart this process with both stores, as store.primary and store.previous, before new keys are made in the new one",
		"primary-from", mark.PrimaryFrom.String())
	return r.bound(live, at), nil
}

// bound sees to it that no record is made under the newest version when another one may be primary: one
// that was added after the store's versions were read is primary later than this.
func (*ring) bound(live []ringVersion, at machine.Instant) []ringVersion {
	newest := &live[len(live)-1]
	if end := at.Add(SecretNotice / 2); newest.before == 0 || end < newest.before {
		newest.before = end
	}
	return live
}

func fits(k store.Secret, key *secretKey) error {
	switch {
	case key == nil:
		return secretMismatch("the store has records under secret version %d, which this process does not know: add it to the secret file", k.Version)
	case key.secret.Check != k.Check:
		return secretMismatch("secret version %d is not the one under which the store's records were made: use the secret file that belongs to this store", k.Version)
	case key.secret.PrimaryFrom != k.PrimaryFrom:
		return secretMismatch("secret version %d is primary from %v in the store and from %v here: write primary-from=%s into the secret file",
			k.Version, k.PrimaryFrom, key.secret.PrimaryFrom, k.PrimaryFrom.Time().Format(time.RFC3339Nano))
	}
	return nil
}

func (s *Secrets) version(n uint32) *secretKey {
	for _, k := range s.keys {
		if k.secret.Version == n {
			return k
		}
	}
	return nil
}

func find(known []store.Secret, version uint32) *store.Secret {
	for i := range known {
		if known[i].Version == version {
			return &known[i]
		}
	}
	return nil
}

func secretMismatch(format string, args ...any) error {
	return &Error{Kind: ErrSecret, Detail: fmt.Sprintf(format, args...)}
}
