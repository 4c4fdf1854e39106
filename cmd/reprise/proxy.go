package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/config"
)

func newProxyCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "proxy --upstream URL --principal HOW",
		Short: "Put the guard in front of an HTTP service",
		Long: "Forwards requests to an HTTP service. A request with an Idempotency-Key takes effect once, and its retries get the same answer.\n\n" +
			"Every setting is explained by `reprise config explain`. SIGHUP reads the configuration again without dropping requests.\n" +
			"SIGTERM lets requests that run finish, records them, and ends; a second one does not wait.",
		Args: noArguments,
	}
	flags := addConfigFlags(cmd, p)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		signals := make(chan os.Signal, 4)
		signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, os.Interrupt)
		defer signal.Stop(signals)
		return runProxy(cmd.Context(), p, flags, signals)
	}
	return cmd
}

// runProxy starts the proxy, and works until ctx ends or a signal says to stop.
func runProxy(ctx context.Context, p process, flags *configFlags, signals <-chan os.Signal) error {
	c, err := flags.load()
	if err != nil {
		return err
	}
	log := newLogger(p.Err, c.Log)
	for is, meant := range config.Misspelt(p.Environ) {
		log.Warn("a variable has no meaning here", "variable", is, "meant", meant)
	}
	s, old, err := startUnlessStopped(ctx, signals, func(ctx context.Context) (*service, error) { return startService(ctx, c, flags, log) })
	if s == nil {
		return err
	}
	if old {
		s.reload(ctx)
	}
	for {
		select {
		case sig := <-signals:
			if sig == syscall.SIGHUP {
				s.reload(ctx)
				continue
			}
			return s.stop(sig.String(), signals)
		case <-ctx.Done():
			return s.stop("the program is to end", signals)
		case err := <-s.failed:
			return errors.Join(err, s.stop("the listener failed", signals))
		}
	}
}
