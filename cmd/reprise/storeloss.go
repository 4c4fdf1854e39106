package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// decision is whose it is that a loss is accepted, and on what grounds.
type decision struct{ who, why string }

// check refuses a loss that is accepted by nobody or for no reason, and names without a loss.
func (d decision) check(acceptLoss bool) error {
	named := d.who != "" || d.why != ""
	switch {
	case !acceptLoss && named:
		return usageError{errors.New("--who and --why belong to --accept-loss")}
	case acceptLoss && (strings.TrimSpace(d.who) == "" || strings.TrimSpace(d.why) == ""):
		return usageError{errors.New("--accept-loss needs --who and --why, which are kept: keys whose records were lost run again")}
	}
	return nil
}

// acceptLossOf accepts what a store has lost, says what that means, and tells the store its secret if that was
// lost, too. It can be called again after it failed.
func acceptLossOf(cmd *cobra.Command, p *place, by decision, secretFile, given string) error {
	if p.acceptLoss == nil {
		return usageError{fmt.Errorf("--accept-loss is for Redis: %v does not keep track of what it has lost. Restore it from a backup (docs/stores.md), or make a new one with --new", p)}
	}
	_, secrets, err := givenSecret(p, secretFile, given)
	if err != nil {
		return err
	}
	if secrets != nil {
		if err := p.fits(cmd.Context(), secrets); err != nil {
			return err
		}
	}
	act, err := p.acceptLoss(cmd.Context(), by.who, by.why)
	if err != nil {
		return err
	}
	newLogger(cmd.ErrOrStderr(), config.Log{Format: "auto"}).Warn("a loss of data was accepted: keys whose records were lost run again",
		"store", p.String(), "who", by.who, "why", by.why, "buckets", act.Buckets, "accepted", act.Accepted, "at", act.At)
	if err := printAct(cmd.OutOrStdout(), act); err != nil {
		return err
	}
	s, _, err := p.open(cmd.Context(), asItIs)
	if err != nil {
		return err
	}
	defer s.Close()
	asked, cancel := asking(cmd.Context())
	defer cancel()
	known, err := knownSecrets(asked, s)
	switch {
	case err != nil || len(known) > 0:
		return err
	case secrets == nil:
		return fmt.Errorf("the loss is accepted, and the store has lost its secret, without which nobody uses it: call this again with the secret from before (--secret-file, or %s)", secretVariable)
	}
	keeper, ok := store.As[store.SecretKeeper](s)
	if !ok {
		return store.ErrUnsupported
	}
	if err := tell(cmd.Context(), retold{s, keeper}, secrets); err != nil {
		return fmt.Errorf("the loss is accepted, and the store has not been told its secret; call this again: %w", err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "its secret was lost, and it was told the one that was given: under another one than before, records that are left are not recognised")
	return err
}

// fits refuses a secret that is not that of a store, as far as the store still knows: whoever has another one looks at another store than he
// thinks, or has another file than its processes.
func (p *place) fits(ctx context.Context, secrets *reprise.Secrets) error {
	known, at, err := p.lossy(ctx)
	if err != nil {
		return err
	}
	known = slices.DeleteFunc(known, store.Secret.IsMark)
	if len(known) == 0 {
		return nil
	}
	if err := tell(ctx, compared{known: known, at: at}, secrets); err != nil {
		return fmt.Errorf("nothing was accepted: %w", err)
	}
	return nil
}

// compared is a store that is asked what it knows of secrets, and told nothing.
type compared struct {
	store.Store
	known []store.Secret
	at    machine.Instant
}

// Secrets implements [store.SecretKeeper].
func (c compared) Secrets(context.Context) ([]store.Secret, machine.Instant, error) {
	return c.known, c.at, nil
}

// AddSecret implements [store.SecretKeeper].
func (c compared) AddSecret(context.Context, store.Secret, time.Duration) error { return nil }

// RetireSecret implements [store.SecretKeeper].
func (c compared) RetireSecret(context.Context, uint32) error { return store.ErrUnsupported }

func printAct(out io.Writer, act redisstore.Act) error {
	switch act.Buckets {
	case 0:
		fmt.Fprintf(out, "no bucket was lost as a whole: every record that is there stays. What the server lost without a trace, as by a restart\n"+
			"from an older dump or a failover, is new to it: such keys run again when they are retried.\n")
	case redisstore.Buckets:
		fmt.Fprintf(out, "all %d buckets were lost: no key is known, and each runs again when it is retried\n", act.Buckets)
	default:
		fmt.Fprintf(out, "%d of %d buckets were lost and have a new generation: their keys run again when they are retried; records of the others stay\n", act.Buckets, redisstore.Buckets)
	}
	_, err := fmt.Fprintf(out, "accepted servers (run id:replication id): %s\n", strings.Join(act.Accepted, ", "))
	return err
}

// retold is a store which is told again what it knew. All versions of the secret were announced once, in time:
// they are taken as they were, also those that are no longer primary, because there may be records under them.
type retold struct {
	store.Store
	store.SecretKeeper
}

// Unwrap implements [store.Unwrapper].
func (r retold) Unwrap() store.Store { return r.Store }

// Secrets implements [store.SecretKeeper]. A store that knows none begins with the first.
func (r retold) Secrets(ctx context.Context) ([]store.Secret, machine.Instant, error) {
	known, at, err := r.SecretKeeper.Secrets(ctx)
	if len(known) == 0 {
		at = 0
	}
	return known, at, err
}

// everBefore is how long ago a version may have become primary that is told again.
const everBefore = 100 * 365 * 24 * time.Hour

// AddSecret implements [store.SecretKeeper].
func (r retold) AddSecret(ctx context.Context, secret store.Secret, _ time.Duration) error {
	return r.SecretKeeper.AddSecret(ctx, secret, -everBefore)
}
