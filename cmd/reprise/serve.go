package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/api"
)

// newServeCommand is `reprise serve`: what operators do, over HTTP.
func newServeCommand(p process) *cobra.Command {
	r := &restoring{process: p, plan: planName}
	listen := ""
	cmd := &cobra.Command{
		Use:   "serve --redis URL --ledger DSN",
		Short: "The API of operators: restores",
		Long: "Answers /v1/restores: begins a restore, goes on with one that stopped, and says how far it is. It listens on this machine alone: whoever\n" +
			"can reach it may restore. Put something in front of it that knows who may.",
		Args: noArguments,
	}
	flags := cmd.Flags()
	flags.StringVar(&r.file, "config", variable(p.Environ, meterConfigVariable), "the meter's configuration `file` (also "+meterConfigVariable+")")
	flags.StringVar(&r.redis, "redis", "", "the Redis to restore")
	flags.StringVar(&r.ledger, "ledger", "", "the SQL to restore from")
	flags.StringVar(&listen, "listen", "127.0.0.1:8082", "where it answers: a loopback address")
	cmd.RunE = r.on(func(cmd *cobra.Command, at *restorePlace) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		listener, err := net.Listen("tcp", listen)
		if err != nil {
			return fmt.Errorf("cannot listen: %w; choose another address with --listen", err)
		}
		if tcp, ok := listener.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
			return errors.Join(usageError{fmt.Errorf("%s can be reached from elsewhere, and nobody is asked who he is: listen on 127.0.0.1", listener.Addr())}, listener.Close())
		}
		plan := at.newPlan(r)
		defer plan.Close()
		restores := api.NewRestores(ctx, at.sessions, at.runner(plan, processName(), 2), planName, at.log)
		err = serveUntil(ctx, listener, onlyLoopbackNames(restores.Handler()), at)
		stop()
		restores.Wait()
		return err
	})
	return cmd
}

// serveUntil serves until ctx ends, and lets requests that run finish.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler, at *restorePlace) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	at.log.Info("reprise: restores are served", "address", listener.Addr().String())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), at.config.DrainTimeout)
	defer cancel()
	return server.Shutdown(ending)
}
