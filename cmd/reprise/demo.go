package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func newDemoCommand(p process) *cobra.Command {
	var stay bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show in half a minute what Reprise does",
		Long: "Starts an order service that counts its orders, the proxy in front of it, and a SQLite file in a temporary\n" +
			"directory, and shows what becomes of retries, duplicates and crashes. It ends with exit code 0 only if each line\n" +
			"came out as promised. With --stay all of it goes on running, to be tried by hand.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return runDemo(ctx, cmd.OutOrStdout(), stay)
		},
	}
	cmd.Flags().BoolVar(&stay, "stay", false, "leave it running until ctrl-C")
	cmd.AddCommand(newDemoServiceCommand(), newDemoChildCommand(p))
	return cmd
}

// runDemo plays the story in a directory of its own, and leaves nothing behind unless a line fails.
func runDemo(ctx context.Context, out io.Writer, stay bool) error {
	dir, err := os.MkdirTemp("", "reprise-demo-")
	if err != nil {
		return err
	}
	err = perform(ctx, dir, out, stay)
	switch {
	case err == nil:
		return os.RemoveAll(dir)
	case ctx.Err() != nil:
		return errors.Join(errors.New("interrupted"), os.RemoveAll(dir))
	}
	return fmt.Errorf("%w; what the processes printed is in %s", err, dir)
}

// perform starts the processes, plays, and ends them.
func perform(ctx context.Context, dir string, out io.Writer, stay bool) error {
	d, err := newDemo(ctx, dir, out)
	defer d.stop()
	if err != nil {
		return err
	}
	if err := d.play(ctx); err != nil || !stay {
		return err
	}
	return d.stay(ctx)
}

// demo is the stage: two processes and their files.
type demo struct {
	dir            string
	report         *report
	client         *http.Client // which tries once, on a connection of its own
	service, proxy *child
	serviceAddress string
	proxyAddress   string
}

func newDemo(ctx context.Context, dir string, out io.Writer) (d *demo, err error) {
	d = &demo{
		dir: dir, report: &report{out: out},
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second},
	}
	if d.serviceAddress, err = freeAddress(); err != nil {
		return d, err
	}
	if d.proxyAddress, err = freeAddress(); err != nil {
		return d, err
	}
	if err := d.startService(ctx); err != nil {
		return d, err
	}
	return d, d.startProxy(ctx)
}

func (d *demo) startService(ctx context.Context) (err error) {
	d.service, err = startChild(ctx, "service", d.dir, d.serviceAddress,
		"demo", "service", "--listen", d.serviceAddress, "--book", filepath.Join(d.dir, "orders.txt"))
	return err
}

func (d *demo) startProxy(ctx context.Context) (err error) {
	d.proxy, err = startChild(ctx, "proxy", d.dir, d.proxyAddress,
		"proxy", "--upstream", "http://"+d.serviceAddress, "--principal", "authorization",
		"--listen", d.proxyAddress, "--store", d.dsn())
	return err
}

func (d *demo) dsn() string { return "sqlite:" + filepath.Join(d.dir, storeFile) }

// stop ends what was started.
func (d *demo) stop() {
	for _, c := range []*child{d.proxy, d.service} {
		if c != nil {
			c.kill()
		}
	}
}

// stay prints what can be tried, and keeps the service alive until the context ends.
func (d *demo) stay(ctx context.Context) error {
	fmt.Fprintf(d.report.out, `
  It goes on running until ctrl-C. Try it in another terminal:

    an order; the same again gives the same order
      curl -i http://%[1]s/orders -H 'Authorization: Bearer carol' \
           -H 'Idempotency-Key: tea-1' -d '{"item": "tea"}'
    a power cut, after the order was made; again: nobody knows, until you settle it
      curl -i http://%[1]s/orders -H 'Authorization: Bearer carol' \
           -H 'Idempotency-Key: cut-1' -d '{"item": "%[2]s"}'
    the orders, and the records of their keys
      curl http://%[3]s/orders
      %[5]s ops list --store %[4]s
    settle it: DIGEST is in that list
      %[5]s ops settle DIGEST --store %[4]s \
           --completed --status 201 --who carol --why 'it is among the orders'
`, d.proxyAddress, powerCut, d.serviceAddress, d.dsn(), os.Args[0])
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.proxy.ended:
			if ctx.Err() == nil {
				return errors.New("the proxy ended")
			}
		case <-d.service.ended: // a power cut
			if err := d.startService(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}
