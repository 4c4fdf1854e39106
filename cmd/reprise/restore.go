package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/meterrestore"
	"github.com/reprise-dev/reprise/restore"
	"github.com/reprise-dev/reprise/store"
)

// The exit codes of `reprise restore` beside those of every command. They are bits: what was found is their sum.
const (
	exitDifferent   = 4
	exitQuarantined = 8
	exitSkipped     = 16
	exitUnreadable  = 32
	exitLost        = 64
)

// codeError is an error with an exit code of its own.
type codeError struct {
	error
	code int
}

func (e codeError) Unwrap() error { return e.error }

// planName is that of the only plan there is.
const planName = "meter"

// restoring is `reprise restore`: what its commands have in common.
type restoring struct {
	process
	file, redis, ledger string
	plan                string
	who, why            string
	takeOver            bool // of a Redis with a generation that SQL has never had
}

func newRestoreCommand(p process) *cobra.Command {
	r := &restoring{process: p}
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Brings back what Redis has lost, from SQL, and proves it",
		Long: "Redis lost its data: `reprise restore start --plan meter` closes the gate, rebuilds Redis from SQL, verifies all of it and opens the\n" +
			"gate. If it stops anywhere, call it again: it goes on. Any number of processes may help with `reprise restore work`.\n\n" +
			"Exit codes are sums of bits: 1 failed, 2 wrong use, 4 differences, 8 units in quarantine, 16 what could not be judged, 32 unreadable,\n64 events that are lost.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&r.file, "config", variable(p.Environ, meterConfigVariable), "the meter's configuration `file` (also "+meterConfigVariable+")")
	flags.StringVar(&r.redis, "redis", "", "the `DSN` of the Redis to restore (also REPRISE_METER_REDIS, or redis in the file); status, pause, resume and pace need none")
	flags.StringVar(&r.ledger, "ledger", "", "the `DSN` of the SQL to restore from (also REPRISE_METER_LEDGER, or ledger in the file)")
	flags.StringVar(&r.plan, "plan", planName, "what is restored: meter")
	flags.StringVar(&r.who, "who", variable(p.Environ, "USER"), "who does it: it is kept")
	flags.StringVar(&r.why, "why", "", "why: it is kept")
	cmd.AddCommand(
		newRestoreStartCommand(r), newRestoreWorkCommand(r), newRestoreStatusCommand(r), newRestorePauseCommand(r), newRestoreResumeCommand(r), newRestorePaceCommand(r),
		newRestoreCancelCommand(r), newRestoreAssessCommand(r), newRestoreVerifyCommand(r), newRestoreUndoCommand(r), newRestoreDrillCommand(r), newRestoreCertificateCommand(r),
	)
	return cmd
}

// restorePlace is what a command works on.
type restorePlace struct {
	config   *config.Meter
	calendar meter.Calendar
	horizon  meter.Horizon
	ledger   *meterledger.Ledger
	sessions *restore.Sessions
	log      *slog.Logger
}

// open opens the databases. For a command that changes something the tables of restores are made if they are missing: three in the
// morning is no time for another command. One that only looks has no sessions then.
func (r *restoring) open(ctx context.Context, changes bool, needed []string) (_ *restorePlace, err error) {
	if r.plan != planName {
		return nil, usageError{fmt.Errorf("there is no plan %q; the one that there is restores the meter: --plan meter", r.plan)}
	}
	c, err := r.load(needed)
	if err != nil {
		return nil, err
	}
	at := &restorePlace{config: c, horizon: meter.Horizon{Retention: c.Retention, Tolerance: c.Tolerance, Ahead: meter.OpenAhead}}
	if at.calendar, err = meter.NewCalendar(c.Zone, int(c.Anchor)); err != nil {
		return nil, usageError{err}
	}
	at.log = newLogger(r.Err, c.Log)
	if at.ledger, err = meterledger.Open(ctx, c.Ledger, meterledger.Options{}); err != nil {
		return nil, err
	}
	if !changes || !slices.Contains(needed, keyRedis) {
		if err := at.adopt(ctx); err != nil {
			return nil, errors.Join(err, at.ledger.Close())
		}
	}
	if err := at.ledger.CheckTerms(ctx, meterledger.Terms{Calendar: at.calendar, Horizon: at.horizon}); err != nil {
		if err = otherTerms(err); r.file == "" && errors.As(err, &usageError{}) {
			err = fmt.Errorf("%w. The meter's file has both: --config", err)
		}
		return nil, errors.Join(err, at.ledger.Close())
	}
	at.sessions, err = restore.Open(ctx, c.Ledger, 0)
	if errors.Is(err, store.ErrSchema) && !changes {
		if status, failure := restore.Status(ctx, c.Ledger); failure == nil && status.Version == 0 {
			return at, nil
		}
	}
	if errors.Is(err, store.ErrSchema) && changes {
		if _, err = restore.Migrate(ctx, c.Ledger); err == nil {
			at.sessions, err = restore.Open(ctx, c.Ledger, 0)
		}
	}
	if err != nil {
		return nil, errors.Join(err, at.ledger.Close())
	}
	return at, nil
}

// adopt takes from the ledger the terms that nobody said: at three in the morning the file need not be at hand to see what there is.
// What was said is compared with the ledger's. Who closes gates and waits for processes to drain needs the file, which says for how long.
func (at *restorePlace) adopt(ctx context.Context) error {
	terms, err := at.ledger.Terms(ctx, meterledger.Terms{Calendar: at.calendar, Horizon: at.horizon})
	if err != nil {
		return err
	}
	said := at.config.Said
	if !said["zone"] && !said["anchor"] {
		at.calendar = terms.Calendar
	}
	if !said["retention"] && !said["tolerance"] {
		at.horizon = terms.Horizon
	}
	return nil
}

func (r *restoring) load(needed []string) (*config.Meter, error) {
	from := config.Sources{File: r.file, Environ: r.Environ, Flags: map[string]string{}}
	for name, value := range map[string]string{keyRedis: r.redis, keyLedger: r.ledger} {
		if value != "" {
			from.Flags[name] = value
		}
	}
	if r.file != "" {
		var err error
		if from.YAML, err = readConfig(r.file); err != nil {
			return nil, err
		}
	}
	return loadMeter(from, needed...)
}

func (at *restorePlace) close() error {
	if at.sessions == nil {
		return at.ledger.Close()
	}
	return errors.Join(at.sessions.Close(), at.ledger.Close())
}

// newPlan returns the meter's plan. The caller closes it.
func (at *restorePlace) newPlan(r *restoring) *meterrestore.Plan {
	return meterrestore.New(meterrestore.Options{
		Ledger: at.ledger, Redis: at.config.Redis, Calendar: at.calendar, Horizon: at.horizon,
		Who: r.name(), Why: r.reason(), Longest: at.config.TakeOver, TakeOver: r.takeOver, Log: at.log,
	})
}

// name is who does it: a person, or else the machine.
func (r *restoring) name() string {
	if r.who != "" {
		return r.who
	}
	host, _ := os.Hostname() // without one it is nobody's
	return "somebody on " + host
}

func (r *restoring) reason() string {
	if r.why != "" {
		return r.why
	}
	return "reprise restore"
}

// on opens what a command that changes something needs, and closes it afterwards.
func (r *restoring) on(work func(cmd *cobra.Command, at *restorePlace) error) func(*cobra.Command, []string) error {
	return r.with(true, work, keyRedis, keyLedger)
}

// looking is the same for a command that changes nothing, in neither database.
func (r *restoring) looking(work func(cmd *cobra.Command, at *restorePlace) error) func(*cobra.Command, []string) error {
	return r.with(false, work, keyRedis, keyLedger)
}

// onSQL is on for a command that has nothing to do with Redis: it must work where nobody knows which Redis there will be.
func (r *restoring) onSQL(work func(cmd *cobra.Command, at *restorePlace) error) func(*cobra.Command, []string) error {
	return r.with(true, work, keyLedger)
}

// lookingAtSQL is looking for such a command.
func (r *restoring) lookingAtSQL(work func(cmd *cobra.Command, at *restorePlace) error) func(*cobra.Command, []string) error {
	return r.with(false, work, keyLedger)
}

// with opens what a command needs, by the keys that must have a value.
func (r *restoring) with(changes bool, work func(cmd *cobra.Command, at *restorePlace) error, needed ...string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		collectLess()
		at, err := r.open(cmd.Context(), changes, needed)
		if err != nil {
			return err
		}
		return errors.Join(work(cmd, at), at.close())
	}
}

// untilStopped ends a command's context when somebody stops it, so that it can leave things tidy. Who asks twice does not wait for that.
func untilStopped(work func(cmd *cobra.Command, at *restorePlace) error) func(*cobra.Command, *restorePlace) error {
	return func(cmd *cobra.Command, at *restorePlace) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop)
		cmd.SetContext(ctx)
		err := work(cmd, at)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("stopped before its end: %w", err)
		}
		return err
	}
}

// collectLess gives the collector fewer occasions, unless GOGC is set: what a restore holds is little, and what it reads and throws away is all
// of the ledger. A fifth of its processor time, measured with 20,000 lines, is saved for some tens of megabytes.
func collectLess() {
	const usual = 100
	if was := debug.SetGCPercent(4 * usual); was != usual {
		debug.SetGCPercent(was)
	}
}

// inspector looks at Redis, which may not be there to be looked at.
func (at *restorePlace) inspector(ctx context.Context) (*inspect.Inspector, func()) {
	i := &inspect.Inspector{Ledger: at.ledger, Calendar: at.calendar, Horizon: at.horizon}
	i.Meter, i.Unopened = meterredis.Open(ctx, at.config.Redis, meterredis.Options{Calendar: at.calendar, Horizon: at.horizon}, at.log)
	return i, func() {
		if i.Meter != nil {
			_ = i.Meter.Close() // which changes nothing
		}
	}
}

// runner restores as a process of this name.
func (at *restorePlace) runner(plan restore.Plan, name string, workers int) *restore.Runner {
	return restore.New(at.sessions, plan, restore.Options{
		Name: name, Program: "reprise " + version(), Workers: workers, Lease: restoreLease, Log: at.log,
	})
}

// restoreLease is how long a process that does not renew is waited for.
const restoreLease = 30 * time.Second

// processName is that of this process, for people.
func processName() string {
	host, _ := os.Hostname() // without one the number has to do
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// patience is how long a look waits for what is under way.
const patience = 10 * time.Second
