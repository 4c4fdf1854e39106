package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// keeper returns a handle's, which every store must have.
func (d *database) keeper(s store.Store) store.SecretKeeper {
	d.Helper()
	keeper, ok := store.As[store.SecretKeeper](s)
	if !ok {
		d.Fatal("the store keeps no secrets: a process with a wrong secret would see every key as new; implement store.SecretKeeper")
	}
	return keeper
}

// secrets reads the versions, which must be the expected ones.
func (d *database) secrets(keeper store.SecretKeeper, want ...store.Secret) machine.Instant {
	d.Helper()
	got, at, err := keeper.Secrets(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	if at.IsZero() {
		d.Error("the store does not tell its time")
	}
	if len(want)+len(got) > 0 {
		if diff := gocmp.Diff(want, got); diff != "" {
			d.Fatalf("secrets (-want +got):\n%s", diff)
		}
	}
	return at
}

const ahead = time.Minute // how long running processes need to learn of a version

func runSecrets(d *database) {
	keeper, other := d.keeper(d.store), d.keeper(d.open())
	add := func(s store.Secret, want error) {
		d.Helper()
		if err := keeper.AddSecret(d.Context(), s, ahead); !errors.Is(err, want) || want == nil && err != nil {
			d.Errorf("version %d: %v, want %v", s.Version, err, want)
		}
	}
	now := d.secrets(keeper)
	first := store.Secret{Version: 2, Check: sum("secret 2")}
	add(first, nil)
	d.secrets(other, first)
	// The number is taken: nothing changes, and the caller finds out by reading.
	add(store.Secret{Version: 2, Check: sum("wrong"), PrimaryFrom: now.Add(lease)}, nil)
	d.secrets(other, first)
	second := store.Secret{Version: 10, Check: sum("secret 10"), PrimaryFrom: now.Add(lease)}
	early := second
	early.PrimaryFrom = now.Add(ahead / 2)
	add(early, store.ErrSecretTooLate)
	if err := keeper.AddSecret(d.Context(), store.Secret{Version: 3, Check: first.Check, PrimaryFrom: now.Add(lease)}, ahead); err == nil {
		d.Error("the first secret was accepted under another number")
	}
	d.secrets(other, first)
	add(second, nil)
	add(store.Secret{Version: 11, Check: sum("secret 11"), PrimaryFrom: second.PrimaryFrom}, store.ErrSecretTooLate)
	d.secrets(other, first, second)
	d.advance(lease)
	if err := other.RetireSecret(d.Context(), first.Version); err != nil {
		d.Fatal(err)
	}
	known, at, err := keeper.Secrets(d.Context())
	if err != nil || len(known) != 2 || known[0].Retired < now.Add(lease) || known[0].Retired > at {
		d.Fatalf("after retiring the first: %+v, %v", known, err)
	}
	first.Retired = known[0].Retired
	known[0] = store.Secret{} // which is the caller's
	d.advance(lease)
	if err := keeper.RetireSecret(d.Context(), first.Version); err != nil {
		d.Errorf("retired again: %v", err)
	}
	add(store.Secret{Version: first.Version, Check: first.Check}, nil) // does not bring it back
	d.secrets(other, first, second)
	// They come by number, whenever they were added; and as another store has them if they are a copy.
	third := store.Secret{Version: 7, Check: sum("secret 7"), PrimaryFrom: now.Add(4 * lease)}
	add(third, nil)
	copied := store.Secret{Version: 5, Check: sum("secret 5"), PrimaryFrom: now.Add(-lease), Retired: now.Add(-1)}
	if err := other.AddSecret(d.Context(), copied, store.CopiedSecret); err != nil {
		d.Errorf("a copy: %v", err)
	}
	d.secrets(keeper, first, copied, third, second)
	// A mark of a move ends the making of versions.
	source := store.Secret{Version: store.SourceMark, Check: sum("move"), Retired: now}
	moved := store.Secret{Version: store.MovedMark, Check: sum("move"), PrimaryFrom: now.Add(5 * lease)}
	add(source, nil)
	add(moved, nil)
	add(store.Secret{Version: 12, Check: sum("secret 12"), PrimaryFrom: now.Add(6 * lease)}, store.ErrSecretTooLate)
	d.secrets(other, first, copied, third, second, source, moved)
}

// runSecretRace announces one version with as many secrets as there are processes: one of them is kept,
// and all see the same one.
func runSecretRace(d *database) {
	keepers := []store.SecretKeeper{d.keeper(d.store), d.keeper(d.open()), d.keeper(d.open())}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			secret := store.Secret{Version: 1, Check: sum(fmt.Sprint("secret of process ", i))}
			if err := keepers[i%len(keepers)].AddSecret(d.Context(), secret, ahead); err != nil {
				d.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	kept, _, err := keepers[0].Secrets(d.Context())
	if err != nil || len(kept) != 1 {
		d.Fatalf("kept %+v, %v", kept, err)
	}
	for _, keeper := range keepers {
		d.secrets(keeper, kept...)
	}
}
