package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
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
	cmd.RunE = r.on(untilStopped(func(cmd *cobra.Command, at *restorePlace) error {
		ctx, end := context.WithCancel(cmd.Context())
		defer end()
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
		end()
		restores.Wait()
		return err
	}))
	return cmd
}

// serveUntil serves until ctx ends, and lets requests that run finish. What has not when the drain time-out is over is cut off: what it
// has begun is in SQL, and is gone on with by whoever is asked next.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler, at *restorePlace) error {
	server := newServer(handler, at.log)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	at.log.Info("listening", "address", listener.Addr().String(), "plan", planName, "version", version())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	at.log.Info("stopping: requests that run are finished first", "drain-timeout", at.config.DrainTimeout)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), at.config.DrainTimeout)
	defer cancel()
	_ = server.Shutdown(ending) // what is left is closed
	return server.Close()
}

// newServer is an HTTP server of those who administer. A request has to be there within a minute; its answer may take as long as it takes.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: time.Minute, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
