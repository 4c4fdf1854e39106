package reprise

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

const (
	// SecretNotice is how far ahead a new version of the secret must be announced. Each process looks
	// at the store's versions again within half of it, and makes no claim on an older view: when a
	// version becomes primary, nobody is left who would still make records under the one before.
	SecretNotice = time.Minute

	ringValid = SecretNotice / 2
	ringFresh = ringValid / 3
)

// ring is a guard's view of the versions of the secret that live in the store.
type ring struct {
	secrets *Secrets
	keeper  store.SecretKeeper
	timeout time.Duration

	mu         sync.Mutex // held while the store is asked
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

// current returns a view that is still valid. It asks the store when there is none, and in the
// background when the one there is grows old.
func (r *ring) current(now time.Time) (*ringView, error) {
	v := r.view.Load()
	switch age := r.age(v, now); {
	case v == nil || age >= ringValid:
		return r.refresh(context.Background())
	case age >= ringFresh && r.refreshing.CompareAndSwap(false, true):
		go func() {
			defer r.refreshing.Store(false)
			_, _ = r.refresh(context.Background()) // a failure shows when the view is no longer valid
		}()
	}
	return v, nil
}

func (r *ring) age(v *ringView, now time.Time) time.Duration {
	if v == nil {
		return 0
	}
	return now.Sub(v.askedAt)
}

// refresh asks the store, whose view is the one that counts. Callers that come together ask once.
func (r *ring) refresh(ctx context.Context) (*ringView, error) {
	came := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if v := r.view.Load(); v != nil && v.askedAt.After(came) {
		return v, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	v := &ringView{askedAt: time.Now()}
	known, at, err := r.keeper.Secrets(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	if added, err := r.announce(ctx, known, at); err != nil {
		return nil, err
	} else if added {
		if known, _, err = r.keeper.Secrets(ctx); err != nil {
			return nil, unavailable(err)
		}
	}
	if v.versions, err = r.match(known); err != nil {
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

// match compares what the store knows with what this process knows. A store with a version unknown
// here has records that this process would take for new keys.
func (r *ring) match(known []store.Secret) ([]ringVersion, error) {
	var live []ringVersion
	for _, k := range known {
		if !k.Retired.IsZero() {
			continue
		}
		key := r.secrets.version(k.Version)
		switch {
		case key == nil:
			return nil, secretMismatch("the store has records under secret version %d, which this process does not know: add it to the secret file", k.Version)
		case key.secret.Check != k.Check:
			return nil, secretMismatch("secret version %d is not the one under which the store's records were made: use the secret file that belongs to this store", k.Version)
		case key.secret.PrimaryFrom != k.PrimaryFrom:
			return nil, secretMismatch("secret version %d is primary from %v in the store and from %v here: write primary-from=%s into the secret file",
				k.Version, k.PrimaryFrom, key.secret.PrimaryFrom, k.PrimaryFrom.Time().Format(time.RFC3339Nano))
		}
		if len(live) > 0 {
			live[len(live)-1].before = k.PrimaryFrom
		}
		live = append(live, ringVersion{key: key, from: k.PrimaryFrom})
	}
	if len(live) == 0 {
		return nil, secretMismatch("every secret version that the store knows is retired: announce a new version")
	}
	return live, nil
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
