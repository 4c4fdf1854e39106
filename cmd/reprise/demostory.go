package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/retryclient"
)

// The requests of the story. Each names its caller, its key and what is ordered.
const (
	alice, bob = "Bearer alice", "Bearer bob"
	firstKey   = "order-1"
	manyKey    = "order-2"
	lostKey    = "order-3"
)

// play tells the story, line by line.
func (d *demo) play(ctx context.Context) error {
	fmt.Fprintf(d.report.out, `
  An order service on %s that counts its orders. It knows nothing of keys.
  Reprise in front of it on %s, with its records in %s.

`, d.serviceAddress, d.proxyAddress, filepath.Join(d.dir, storeFile))
	d.report.head()
	for _, scene := range []func(context.Context) error{d.retries, d.strangers, d.serviceDies, d.settles, d.proxyDies} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return d.report.end()
}

// retries shows that the same request takes effect once.
func (d *demo) retries(ctx context.Context) error {
	return errors.Join(
		d.tell(ctx, "Alice orders a coffee", alice, firstKey, "coffee", evidence{"201", "1", 1, ""}),
		d.tell(ctx, "She sends the same request again", alice, firstKey, "coffee", evidence{"201", "1", 1, "replayed"}),
		d.tellMany(ctx, "She sends a new request 50 times at once", evidence{"50 x 201", "2", 2, "49 replayed"}),
	)
}

// strangers shows what a key does not do.
func (d *demo) strangers(ctx context.Context) error {
	return errors.Join(
		d.tell(ctx, "She uses the first key for another order", alice, firstKey, "cake", evidence{"422", "", 2, "key-reused"}),
		d.tell(ctx, "Bob uses the same key: it is another key", bob, firstKey, "coffee", evidence{"201", "3", 3, ""}),
	)
}

// serviceDies shows that what nobody can know is said, and not guessed.
func (d *demo) serviceDies(ctx context.Context) error {
	answer, err := d.send(ctx, d.client, alice, lostKey, powerCut)
	if err != nil {
		return err
	}
	select {
	case <-d.service.ended:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(30 * time.Second):
		return errors.New("the service should have died, and did not")
	}
	if err := d.startService(ctx); err != nil {
		return err
	}
	if err := d.tellAnswers(ctx, "The service makes an order and dies", evidence{"504", "", 4, httpguard.ProblemUpstreamNoAnswer}, answer); err != nil {
		return err
	}
	return d.tell(ctx, "It is back. She asks again: nobody knows", alice, lostKey, powerCut, evidence{"409", "", 4, httpguard.ProblemOutcomeUnknown})
}

// settles shows how somebody who looked into the order book says what happened. The commands are run as
// they are printed, in the directory of the records.
func (d *demo) settles(ctx context.Context) error {
	printed, err := d.reprise(ctx, "ops", "list", "--state", "abandoned", "--json")
	if err != nil {
		return err
	}
	var lost admin.Record
	if err := json.Unmarshal([]byte(printed), &lost); err != nil {
		return fmt.Errorf("reprise ops list printed %q: %w", printed, err)
	}
	if printed, err = d.reprise(ctx, "ops", "list", "--state", "abandoned"); err != nil {
		return err
	}
	d.report.shell("reprise ops list --state abandoned", printed)
	body := []byte(`{"order":4,"item":"` + powerCut + `"}` + "\n")
	if err := os.WriteFile(filepath.Join(d.dir, "order-4.json"), body, 0o600); err != nil {
		return err
	}
	digest, revision := lost.Digest[:16], fmt.Sprint(lost.Revision)
	printed, err = d.reprise(ctx, "ops", "settle", digest, "--revision", revision, "--completed", "--status", "201",
		"--body-file", "order-4.json", "--who", "ann", "--why", "order 4 is in the book")
	if err != nil {
		return err
	}
	d.report.shell("reprise ops settle "+digest+" --revision "+revision+" --completed --status 201 \\\n"+
		"    --body-file order-4.json --who ann --why 'order 4 is in the book'", printed+"\n")
	return d.tell(ctx, "She asks again", alice, lostKey, powerCut, evidence{"201", "4", 4, "replayed"})
}

// proxyDies shows that the promises outlive the process that made them.
func (d *demo) proxyDies(ctx context.Context) error {
	d.proxy.kill()
	if err := d.startProxy(ctx); err != nil {
		return err
	}
	return errors.Join(
		d.tell(ctx, "kill -9 of the proxy, a new one: first request", alice, firstKey, "coffee", evidence{"201", "1", 4, "replayed"}),
		d.tell(ctx, "And the one that was settled", alice, lostKey, powerCut, evidence{"201", "4", 4, "replayed"}),
	)
}

// tell sends one request and prints what came out.
func (d *demo) tell(ctx context.Context, text, caller, key, item string, want evidence) error {
	answer, err := d.send(ctx, d.client, caller, key, item)
	if err != nil {
		return err
	}
	return d.tellAnswers(ctx, text, want, answer)
}

// tellMany sends one request 50 times at once, as 50 clients would: told that the first is still
// running, each asks again.
func (d *demo) tellMany(ctx context.Context, text string, want evidence) error {
	client := retryclient.Client(&http.Transport{}, retryclient.Options{
		MaxBackoff: 200 * time.Millisecond, MaxRetryAfter: 100 * time.Millisecond, MaxTries: 200,
	})
	defer client.CloseIdleConnections()
	answers := make([]answered, 50)
	group, ctx2 := errgroup.WithContext(ctx)
	for i := range answers {
		group.Go(func() (err error) {
			answers[i], err = d.send(ctx2, client, alice, manyKey, "coffee")
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return d.tellAnswers(ctx, text, want, answers...)
}

// tellAnswers adds the number of orders made, and prints the line.
func (d *demo) tellAnswers(ctx context.Context, text string, want evidence, answers ...answered) error {
	got := summary(answers)
	var err error
	if got.made, err = d.made(ctx); err != nil {
		return err
	}
	d.report.line(text, got, want)
	return nil
}
