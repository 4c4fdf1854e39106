package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
)

// benchProxy measures `reprise proxy` on memory against the standard library's reverse proxy without any
// guard, in front of the same service, over TCP with connections that stay open.
func benchProxy(ctx context.Context, s settings, t *table) (err error) {
	const connections = 64
	upstream, err := startOwn(ctx, "upstream")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, upstream.stop()) }()
	plain, err := startOwn(ctx, "plain http://"+upstream.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.stop()) }()
	binary, err := buildReprise(ctx, s)
	if err != nil {
		return err
	}
	reprise, err := startReprise(ctx, s, binary, upstream.address, "memory:")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reprise.stop()) }()

	toPlain, err := dial(plain.address, connections)
	if err != nil {
		return err
	}
	toReprise, err := dial(reprise.address, connections)
	if err != nil {
		return err
	}
	fresh := counter("fresh-")
	without := func() (float64, error) { return toPlain.rate(ctx, fresh) }
	for _, m := range []struct {
		name   string
		keys   func() string
		target float64
	}{
		{"fresh keys", fresh, 0.6},
		{"replays", func() string { return "one-key" }, 1.0},
	} {
		t.progress("proxy: %d rounds of %s", s.rounds, m.name)
		if err := toReprise[0].post(m.keys()); err != nil { // the answer that is replayed
			return err
		}
		medians, ratio, err := inTurns(s.rounds, func() (float64, error) { return toReprise.rate(ctx, m.keys) }, without)
		if err != nil {
			return err
		}
		t.atLeast(fmt.Sprintf("proxy on memory, %s at %d connections (%s)", m.name, connections, thousands(medians.ours)),
			fmt.Sprintf("httputil.ReverseProxy, no guard (%s)", thousands(medians.limit)), ratio, m.target, "×")
	}
	return errors.Join(toPlain.close(), toReprise.close())
}

// counter returns a function that gives another key each time.
func counter(prefix string) func() string {
	var n atomic.Int64
	return func() string { return prefix + strconv.FormatInt(n.Add(1), 10) }
}
