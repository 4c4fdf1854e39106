package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

func redisPlace(dsn, rest string) (*place, error) {
	if _, tail, _ := cutAny(strings.TrimPrefix(rest, "//"), "/?#"); strings.Contains(tail, "@") {
		// Without this, the rest of a password that has a / in it would be taken for the database, and shown.
		return nil, errors.New("the store's DSN has an @ after its host: in a password, write % / ? # @ : and spaces as %25 %2F %3F %23 %40 %3A %20, and elsewhere @ as %40")
	}
	parsed, err := redisstore.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	p := &place{shown: parsed.String(), class: onServer}
	p.noSchema = "Redis has no schema: there is nothing to bring up to date, and nothing was done. " +
		"A store is made once, with: reprise store init --new --store " + p.argument()
	p.open = func(ctx context.Context, _ access) (store.Store, bool, error) {
		ctx, cancel := asking(ctx)
		defer cancel()
		s, err := redisstore.Open(ctx, dsn, redisstore.Options{Log: p.log})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false, noStore(fmt.Sprintf("there is nothing under the prefix %q of this Redis: if it is new, reprise store init --new makes a store; "+
				"if there was one, it has lost everything, which reprise store init --accept-loss accepts", parsed.Prefix()))
		}
		if err != nil {
			return nil, false, p.checkDSN(err)
		}
		return s, false, nil
	}
	p.init = func(ctx context.Context, secret secretSource, out io.Writer) error {
		return initRedis(ctx, dsn, secret, out)
	}
	p.acceptLoss = func(ctx context.Context, who, why string) (redisstore.Act, error) {
		ctx, cancel := asking(ctx)
		defer cancel()
		act, err := redisstore.AcceptLoss(ctx, dsn, who, why, redisstore.Options{})
		return act, p.checkDSN(err)
	}
	p.lossy = func(ctx context.Context) ([]store.Secret, machine.Instant, error) {
		ctx, cancel := asking(ctx)
		defer cancel()
		known, at, err := redisstore.KnownSecrets(ctx, dsn, redisstore.Options{})
		return known, at, p.checkDSN(err)
	}
	return p, nil
}

// checkDSN says what to look at when a server cannot be used, which is not for what it has lost.
func (p *place) checkDSN(err error) error {
	if errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrLost) {
		return fmt.Errorf("%w (check that Redis runs and can be reached from here, and that host, port, user, password, database and TLS (rediss://) are as in %v)", err, p)
	}
	return err
}

// cutAny cuts a text at the first of some characters.
func cutAny(text, characters string) (before, after string, found bool) {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// initRedis gives the store its generations, which is refused where there is one, and tells it its first secret.
func initRedis(ctx context.Context, dsn string, secret secretSource, out io.Writer) error {
	p := secret.place
	secrets, err := secret.given(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	asked, cancel := asking(ctx)
	defer cancel()
	if err := redisstore.InitNew(asked, dsn, redisstore.Options{}); err != nil {
		return untold(asked, p, p.checkDSN(err))
	}
	s, _, err := p.open(ctx, asItIs)
	if err != nil {
		return err
	}
	if err := errors.Join(tell(ctx, s, secrets), s.Close()); err != nil {
		return fmt.Errorf("the store is made, and has not been told its secret: %w\nTell it with: %s", err, p.accepting())
	}
	return declaredNew(out, p)
}

// untold adds to the refusal of a store that exists what to do where it knows of no secret: the making may have stopped
// before it was told.
func untold(ctx context.Context, p *place, refusal error) error {
	if !errors.Is(refusal, fs.ErrExist) {
		return refusal
	}
	s, _, err := p.open(ctx, asItIs)
	if err != nil {
		return refusal
	}
	defer s.Close()
	if known, err := knownSecrets(ctx, s); err != nil || len(known) > 0 {
		return refusal
	}
	return fmt.Errorf("%w\nIt knows of no secret: store init --new stopped before it told it, or it was lost. Tell it with: %s", refusal, p.accepting())
}
