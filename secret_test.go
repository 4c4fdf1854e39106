package reprise_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
)

func secretBytes(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func secrets(t *testing.T, versions ...reprise.Secret) *reprise.Secrets {
	t.Helper()
	s, err := reprise.NewSecrets(versions...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func guardWith(t *testing.T, s store.Store, versions ...reprise.Secret) *reprise.Guard {
	t.Helper()
	g, err := reprise.New(s, reprise.Policy{Secrets: secrets(t, versions...), Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestRotationUnderLoad: two processes, of which one learns of the new version first, answer keys
// before, at and after the instant at which it becomes primary. No key runs twice, no replay is lost.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(nil)
		one := reprise.Secret{Version: 1, Bytes: secretBytes(1)}
		two := reprise.Secret{Version: 2, Bytes: secretBytes(2), PrimaryFrom: time.Now().Add(3 * reprise.SecretNotice)}
		old := guardWith(t, s, one)
		var runs [400]atomic.Int32
		var all sync.WaitGroup
		call := func(g *reprise.Guard, n int) {
			all.Go(func() {
				outcome, err := g.Do(context.Background(), order(fmt.Sprint("k", n)), func(context.Context, *reprise.Run) (reprise.Response, error) {
					runs[n].Add(1)
					<-time.After(time.Second)
					return reprise.Response{Data: fmt.Append(nil, n)}, nil
				})
				if err != nil || string(outcome.Response.Data) != fmt.Sprint(n) {
					t.Errorf("key %d: %q, %v", n, outcome.Response.Data, err)
				}
			})
		}
		if _, err := old.Do(t.Context(), order("first"), counted(new(int))); err != nil {
			t.Fatal(err)
		}
		a, b := guardWith(t, s, one, two), guardWith(t, s, one, two)
		if err := a.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := range runs {
			call(a, n)
			call(b, n)
			call(a, n/2) // again, long after it was made
			<-time.After(time.Second)
		}
		all.Wait()
		for n := range runs {
			if got := runs[n].Load(); got != 1 {
				t.Errorf("key %d ran %d times", n, got)
			}
		}
		// The process that never learned of the new version makes no claim any more.
		if _, err := old.Do(t.Context(), order("k1"), counted(new(int))); !errors.Is(err, reprise.ErrSecret) {
			t.Errorf("a process without the new version: %v", err)
		}
		for _, g := range []*reprise.Guard{old, a, b} {
			closeGuard(t, g)
		}
	})
}

func TestSecretsThatDoNotFit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(nil)
		one := reprise.Secret{Version: 1, Bytes: secretBytes(1)}
		soon := time.Now().Add(2 * reprise.SecretNotice)
		two := reprise.Secret{Version: 2, Bytes: secretBytes(2), PrimaryFrom: soon}
		if err := guardWith(t, s, one).Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		tooLate := two
		tooLate.PrimaryFrom = time.Now().Add(reprise.SecretNotice / 2)
		if err := guardWith(t, s, one, tooLate).Check(t.Context()); !errors.Is(err, reprise.ErrSecret) || !errors.Is(err, store.ErrSecretTooLate) {
			t.Errorf("announced too late: %v", err)
		}
		if err := guardWith(t, s, one, two).Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := two
		other.PrimaryFrom = soon.Add(time.Hour)
		for name, versions := range map[string][]reprise.Secret{
			"another instant":       {one, other},
			"the old one forgotten": {two},
			"other bytes":           {{Version: 1, Bytes: secretBytes(9)}, two},
		} {
			if err := guardWith(t, s, versions...).Check(t.Context()); !errors.Is(err, reprise.ErrSecret) {
				t.Errorf("%s: %v", name, err)
			}
		}
		// A version that this process does not know yet is no reason to stop before it is primary.
		if err := guardWith(t, s, one).Check(t.Context()); err != nil {
			t.Errorf("a version unknown, before it is primary: %v", err)
		}
		<-time.After(2 * reprise.SecretNotice)
		if err := guardWith(t, s, one).Check(t.Context()); !errors.Is(err, reprise.ErrSecret) {
			t.Errorf("a version unknown, since it is primary: %v", err)
		}
		// Once the old version is retired, it may be left out or kept.
		if err := s.RetireSecret(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		for _, versions := range [][]reprise.Secret{{two}, {one, two}} {
			g := guardWith(t, s, versions...)
			v, err := g.Prepare(order("k"))
			if err != nil || len(v.Candidates) != 1 || v.Candidates[0].Scope.SecretVersion != 2 {
				t.Errorf("after retiring: %+v, %v", v, err)
			}
		}
	})
}

func TestEmptyStoreBeginsWithThePrimaryVersion(t *testing.T) {
	t.Parallel()
	s := memstore.New(nil)
	g := guardWith(t, s, reprise.Secret{Version: 1, Bytes: secretBytes(1)},
		reprise.Secret{Version: 2, Bytes: secretBytes(2), PrimaryFrom: time.Now().Add(-time.Hour)},
		reprise.Secret{Version: 3, Bytes: secretBytes(3), PrimaryFrom: time.Now().Add(time.Hour)})
	v, err := g.Prepare(order("k"))
	if err != nil || len(v.Candidates) != 2 || v.Candidates[0].Scope.SecretVersion != 2 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestDownstreamKeyIsTheSameOnEveryAttempt(t *testing.T) {
	t.Parallel()
	s := memstore.New(nil)
	var keys []string
	for range 2 {
		g := guardWith(t, s, reprise.Secret{Version: 1, Bytes: secretBytes(1)})
		_, _ = g.Do(t.Context(), order("k"), func(_ context.Context, run *reprise.Run) (reprise.Response, error) {
			keys = append(keys, run.DownstreamKey("charge"), run.DownstreamKey("mail"))
			return reprise.Response{}, reprise.NoEffect(errAction)
		})
	}
	if len(keys) != 4 || keys[0] != keys[2] || keys[1] != keys[3] || keys[0] == keys[1] {
		t.Errorf("%q", keys)
	}
}

func TestSecretFile(t *testing.T) {
	t.Parallel()
	text, err := reprise.GenerateSecretFile()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reprise.ParseSecrets(text); err != nil {
		t.Error(err)
	}
	b64 := base64.StdEncoding.EncodeToString
	good := fmt.Sprintf("# two\n1 %s\n\n 2 %s primary-from=2026-05-01T00:00:00Z \n", b64(secretBytes(1)), b64(secretBytes(2)))
	if _, err := reprise.ParseSecrets([]byte(good)); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"empty":             "",
		"one field":         "1",
		"no number":         "x " + b64(secretBytes(1)),
		"version 0":         "0 " + b64(secretBytes(1)),
		"not base64":        "1 !!!",
		"short":             "1 " + b64([]byte("short")),
		"twice":             "1 " + b64(secretBytes(1)) + "\n1 " + b64(secretBytes(2)),
		"same bytes, 1 & 3": "1 " + b64(secretBytes(1)) + "\n2 " + b64(secretBytes(2)) + " primary-from=2026-05-01T00:00:00Z\n3 " + b64(secretBytes(1)) + " primary-from=2026-06-01T00:00:00Z",
		"same bytes":        "1 " + b64(secretBytes(1)) + "\n2 " + b64(secretBytes(1)) + " primary-from=2026-05-01T00:00:00Z",
		"no primary-from":   "1 " + b64(secretBytes(1)) + "\n2 " + b64(secretBytes(2)),
		"bad time":          "1 " + b64(secretBytes(1)) + " primary-from=tomorrow",
		"other field":       "1 " + b64(secretBytes(1)) + " from=2026-05-01T00:00:00Z",
	} {
		if _, err := reprise.ParseSecrets([]byte(text)); !errors.Is(err, reprise.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseSecrets(f *testing.F) {
	f.Add([]byte("1 AAAA primary-from=2026-05-01T00:00:00Z\n# x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := reprise.ParseSecrets(text)
		if (s == nil) != (err != nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}
