package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/proxy"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/observestore"
)

// Limits of the listener. There is none on how long a request or an answer may take: both may be streams.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// service is `reprise proxy` at work.
type service struct {
	config *config.Config // the current one
	flags  *configFlags
	log    *slog.Logger
	maker  settingsMaker
	secret secretSource

	opened   *openedStore
	store    store.Store // opened, observed
	proxy    *proxy.Proxy
	server   *http.Server
	tls      atomic.Pointer[tls.Config]
	admin    *adminPort
	draining atomic.Bool
	failed   chan error

	life context.Context // of what works beside requests
	end  context.CancelFunc
	work sync.WaitGroup
}

// startService listens, opens the store and answers. Ports come first: where they are taken, no new
// database is made.
func startService(ctx context.Context, c *config.Config, flags *configFlags, log *slog.Logger) (_ *service, err error) {
	s := &service{config: c, flags: flags, log: log, failed: make(chan error, 2)}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.maker = settingsMaker{life: s.life, log: log}
	defer context.AfterFunc(ctx, s.end)() // until it has started, what it waits for ends with ctx
	var undo []func() error
	defer func() {
		if err != nil {
			s.end()
			for i := len(undo) - 1; i >= 0; i-- {
				err = errors.Join(err, undo[i]())
			}
		}
	}()
	listener, err := s.listen()
	if err != nil {
		return nil, err
	}
	undo = append(undo, listener.Close)
	if s.admin, err = newAdminPort(c.AdminListen, s); err != nil {
		return nil, err
	}
	undo = append(undo, s.admin.close)
	if err := s.openStore(ctx); err != nil {
		return nil, err
	}
	undo = append(undo, s.store.Close)
	if err := s.startProxy(ctx); err != nil {
		return nil, err
	}
	s.serve(listener)
	return s, nil
}

func (s *service) listen() (net.Listener, error) {
	t, err := listenerTLS(s.config.TLS)
	if err != nil {
		return nil, usageError{err}
	}
	listener, err := net.Listen("tcp", s.config.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w; choose another address with --listen", err)
	}
	if t == nil {
		return listener, nil
	}
	s.tls.Store(t)
	// Connections take what is current when they begin, so that a renewed certificate needs a reload only.
	current := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: t.NextProtos,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.tls.Load(), nil }}
	return tls.NewListener(listener, current), nil
}

// openStore opens the store with its decorators. What can be found wrong without it is found before.
func (s *service) openStore(ctx context.Context) error {
	p, previous, err := parsePlaces(s.config.Store)
	if err != nil {
		return err
	}
	p.log = s.log
	if err := rehearse(ctx, &s.maker, s.config); err != nil {
		return usageError{err}
	}
	if s.secret, err = newSecretSource(firstOf(previous, p), s.config.SecretFile, variable(s.flags.environ, secretVariable)); err != nil {
		return err
	}
	if previous != nil {
		previous.log = s.log
		s.opened, err = openBoth(ctx, p, previous, s.config.Store.From, s.log)
	} else {
		s.opened, err = s.secret.openStore(ctx)
	}
	if err != nil {
		return err
	}
	switch {
	case p.class == inMemory:
		s.log.Warn("the store is this process's memory: every key is forgotten when it ends")
	case s.opened.created && (s.secret.file != "" || s.secret.variable != ""):
		s.log.Info("a new database: keys sent before this are unknown to it. Back it up together with the secret", "database", p.path)
	}
	if s.store, err = observestore.New(s.opened, tracenoop.NewTracerProvider(), s.admin.meters); err != nil {
		return errors.Join(err, s.opened.Close())
	}
	return nil
}

func (s *service) startProxy(ctx context.Context) error {
	settings, err := s.settings(ctx, s.config)
	if err != nil {
		return err
	}
	s.proxy, err = proxy.New(ctx, s.store, settings, s.admin.meters)
	return err
}

// settings makes the proxy's settings, with the secret as it is now.
func (s *service) settings(ctx context.Context, c *config.Config) (proxy.Settings, error) {
	secrets, err := s.secret.read(ctx, s.opened, s.log)
	if err != nil {
		return proxy.Settings{}, err
	}
	return s.maker.make(c, secrets)
}

// serve begins to answer.
func (s *service) serve(listener net.Listener) {
	s.server = &http.Server{
		Handler: s.proxy, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.work.Go(func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	})
	every := s.config.PurgeInterval // now: a reload replaces the configuration
	s.work.Go(func() { s.proxy.Purge(s.life, every) })
	s.admin.serve()
	s.log.Info("listening", "address", listener.Addr().String(), "upstream", s.config.Upstream.String(), "store", s.opened.place.String(),
		"routes", len(s.config.Routes), "admin", s.admin.address(), "version", version())
}

// sendTimeout is how long the answers of what was cut off have to leave.
const sendTimeout = 2 * time.Second

// sendLast waits until the answers that are written have left: that is after their handlers have returned.
func (s *service) sendLast() error {
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	if err := s.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil // streams that have no part in what is guarded are ended by closing
}

// errDrained is why requests are cut off.
var errDrained = errors.New("drain-timeout is over")

// stop lets no more requests in, waits for those that run, and closes the store. Another signal to stop, or the
// drain time-out, cuts them off: they are recorded as unknown.
func (s *service) stop(why string, signals <-chan os.Signal) error {
	s.draining.Store(true)
	s.log.Info("stopping: requests that run are finished and recorded first", "because", why, "drain-timeout", s.config.DrainTimeout)
	ctx, cancel := context.WithTimeoutCause(context.Background(), s.config.DrainTimeout, errDrained)
	defer cancel()
	stopped := make(chan struct{})
	defer close(stopped)
	go s.hurry(signals, cancel, stopped)
	_ = s.server.Shutdown(ctx) // when its time is over, the proxy says what was cut off
	err := errors.Join(s.proxy.Close(ctx), s.sendLast(), s.server.Close())
	s.end()
	err = errors.Join(err, s.admin.close())
	s.work.Wait()
	if err = errors.Join(err, s.store.Close()); err == nil {
		s.log.Info("stopped: every request was answered and recorded")
	}
	return err
}

// hurry cuts off what runs when another signal says to stop. One to reload says nothing of that: whoever renews a certificate sends it to
// every process.
func (s *service) hurry(signals <-chan os.Signal, cut func(), stopped <-chan struct{}) {
	for {
		select {
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				cut()
				return
			}
			s.log.Warn("not reloaded: the proxy is stopping")
		case <-stopped:
			return
		}
	}
}
