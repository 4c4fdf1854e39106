package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/meter/meterhttp"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
)

func newMeterServeCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve --redis URL --ledger DSN",
		Short: "Take in usage, decide it, and keep what is due",
		Long: "Answers HTTP, decides events, writes the done log, opens months, brings grants to Redis and folds. Any number of processes share\n" +
			"the work; one that dies loses nothing. Every key of the configuration is in docs/meter.md.\n\n" +
			"The prefix of the records in Redis is meter: unless the DSN names another. SIGTERM lets requests and batches that run finish; a\n" +
			"second one does not wait.",
		Args: noArguments,
	}
	flags := addMeterFlags(cmd, p, true)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		signals := make(chan os.Signal, 4)
		signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
		defer signal.Stop(signals)
		c, err := flags.load(keyRedis, keyLedger)
		if err != nil {
			return err
		}
		s, _, err := startUnlessStopped(cmd.Context(), signals, func(ctx context.Context) (*meterService, error) {
			return startMeter(ctx, c, newLogger(p.Err, c.Log))
		})
		if s == nil {
			return err
		}
		select {
		case sig := <-signals:
			return s.stop(sig.String(), signals)
		case <-cmd.Context().Done():
			return s.stop("the program is to end", signals)
		case err := <-s.failed:
			return errors.Join(err, s.stop("it cannot go on", signals))
		}
	}
	return cmd
}

// meterService is `reprise meter serve` at work.
type meterService struct {
	*meterParts
	service *meterhttp.Service
	server  *http.Server
	failed  chan error
	life    context.Context // of worker and keeper
	end     context.CancelFunc
	work    sync.WaitGroup
}

// startMeter listens, opens both databases, and works.
func startMeter(ctx context.Context, c *config.Meter, log *slog.Logger) (s *meterService, err error) {
	token, err := readToken(c.TokenFile)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w; choose another address with --listen", err)
	}
	loopback := isLoopback(listener)
	if !loopback && token == "" {
		return nil, errors.Join(usageError{fmt.Errorf("%s can be reached from elsewhere, and requests there change lines and grants: say with --token-file what they have to carry, or listen on 127.0.0.1", listener.Addr())}, listener.Close())
	}
	parts, err := openMeter(ctx, c, log)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s = &meterService{meterParts: parts, failed: make(chan error, 2)}
	if err := s.make(ctx, token); err != nil {
		return nil, errors.Join(err, parts.close(), listener.Close())
	}
	s.serve(context.WithoutCancel(ctx), listener, loopback)
	return s, nil
}

func isLoopback(listener net.Listener) bool {
	tcp, ok := listener.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// make puts the parts together.
func (s *meterService) make(ctx context.Context, token string) error {
	streams, err := s.meter.OpenStreams(ctx, s.config.StreamLimit)
	if err != nil {
		return err
	}
	meters, metrics, err := newMetrics()
	if err != nil {
		return err
	}
	s.service, err = meterhttp.New(meterhttp.Parts{
		Intake: &pipeline.Intake{Meter: s.meter, Streams: streams, Ledger: s.ledger, Directory: s.directory, Horizon: s.horizon, Durable: s.config.Durable},
		Meter:  s.meter, Ledger: s.ledger, Directory: s.directory, Keeper: s.keeper(),
		Mover:     &pipeline.Mover{Meter: s.meter, Ledger: s.ledger, Directory: s.directory, Calendar: s.calendar, Horizon: s.horizon},
		Inspector: s.inspector(), MaxBody: s.config.MaxBody, MaxWait: s.config.MaxWait, Token: token,
		Metrics: metrics, Meters: meters, Log: s.log,
	})
	if err != nil {
		return err
	}
	s.startWork(streams)
	return nil
}

// startWork starts the worker and the keeper.
func (s *meterService) startWork(streams *meterredis.Streams) {
	s.life, s.end = context.WithCancel(context.Background())
	worker := pipeline.NewWorker(pipeline.WorkerOptions{
		Meter: s.meter, Streams: streams, Ledger: s.ledger, Directory: s.directory, Log: s.log, Batch: int(s.config.Batch), Idle: s.config.TakeOver,
	})
	s.work.Go(func() { worker.Run(s.life) })
	s.work.Go(func() {
		err := s.keeper().Run(s.life)
		if err != nil {
			s.log.Warn("meter: the keeper ended", "error", err)
		}
		if s.life.Err() == nil && err != nil { // it works by other terms than the ledger now has
			s.failed <- err
		}
	})
}

// serve begins to answer.
func (s *meterService) serve(ctx context.Context, listener net.Listener, loopback bool) {
	var handler http.Handler = s.service
	if loopback {
		handler = onlyLoopbackNames(handler)
	}
	s.server = newServer(handler, s.log)
	s.work.Go(func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	})
	state := "open"
	if err := s.meter.GateOpen(ctx); err != nil {
		state = err.Error()
	}
	s.log.Info("listening", "address", listener.Addr().String(), "gate", state, "generation", string(s.meter.Generation()),
		"zone", s.calendar.Zone().String(), "durable", s.config.Durable, "version", version())
}

// stop lets no more requests in, finishes what runs, and closes the databases. What is not finished when the drain time-out is
// over, or at another signal, is gone on with by other processes, or by this one when it is started again.
func (s *meterService) stop(why string, signals <-chan os.Signal) error {
	s.service.Drain()
	s.log.Info("stopping: requests and batches that run are finished first", "because", why, "drain-timeout", s.config.DrainTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), s.config.DrainTimeout)
	defer cancel()
	stopped := make(chan struct{})
	defer close(stopped)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-stopped:
		}
	}()
	_ = s.server.Shutdown(ctx) // what is left is closed
	err := s.server.Close()
	s.end()
	worked := make(chan struct{})
	go func() {
		s.work.Wait()
		close(worked)
	}()
	select {
	case <-worked:
	case <-ctx.Done():
		return errors.Join(err, errors.New("what runs was cut off: it is gone on with by whoever serves next"))
	}
	if err = errors.Join(err, s.close()); err == nil {
		s.log.Info("stopped: what was taken in is recorded, or waits for the next process")
	}
	return err
}
