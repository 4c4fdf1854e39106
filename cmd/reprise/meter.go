package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // so that the same zones are there on every machine

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// meterConfigVariable names the configuration file of the meter where there is no flag.
const meterConfigVariable = "REPRISE_METER_CONFIG"

func newMeterCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "meter",
		Short: "Prepaid usage at Redis speed, each event once, the truth in SQL",
		Long: "An event says that a line used bytes with an app. The meter decides at once how much of it comes from the line's allowance, how\n" +
			"much from its family's, how much runs slowly, and how much is blocked. Redis decides, SQL knows; docs/meter.md tells all.\n\n" +
			"The first time: reprise migrate up --ledger DSN, reprise meter import FILE.csv, reprise meter hydrate, reprise meter serve.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newMeterServeCommand(p), newMeterImportCommand(p), newMeterHydrateCommand(p), newMeterOpenMonthCommand(p), newMeterFoldCommand(p),
		newMeterShowCommand(p), newMeterAuditCommand(p), newMeterDeadLettersCommand(p), newMeterLoadCommand(p), newMeterDemoCommand(),
	)
	return cmd
}

// meterFlags are the flags of commands that read the configuration of the meter.
type meterFlags struct{ *keyFlags }

// addMeterFlags gives a command the flags of both databases, and, if it serves, those of all keys.
func addMeterFlags(cmd *cobra.Command, p process, serves bool) meterFlags {
	var keys []config.Key
	for _, k := range config.MeterKeys() {
		if serves || k.Name == keyRedis || k.Name == keyLedger {
			keys = append(keys, k)
		}
	}
	return meterFlags{addKeyFlags(cmd, p, keys, meterConfigVariable)}
}

// Keys without which there is nothing to work with.
const keyRedis, keyLedger = "redis", "ledger"

// load reads the configuration.
func (f meterFlags) load(needed ...string) (*config.Meter, error) {
	from, err := f.sources()
	if err != nil {
		return nil, err
	}
	return loadMeter(from, needed...)
}

// loadMeter reads the configuration of the meter. A DSN of Redis that makes no sense is refused before anything is opened.
func loadMeter(from config.Sources, needed ...string) (*config.Meter, error) {
	c, err := config.LoadMeter(from, needed...)
	if err != nil {
		return nil, usageError{err}
	}
	if slices.Contains(needed, keyRedis) {
		if _, err := redisstore.ParseDSN(c.Redis); err != nil {
			return nil, usageError{fmt.Errorf("%s: %s", keyRedis, printable(err.Error()))}
		}
	}
	if slices.Contains(needed, keyLedger) {
		if err := checkLedger(c.Ledger); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// meterParts are the databases of a meter, and what works with both.
type meterParts struct {
	config    *config.Meter
	log       *slog.Logger
	calendar  meter.Calendar
	horizon   meter.Horizon
	ledger    *meterledger.Ledger
	meter     *meterredis.Meter // nil if only the ledger was opened, or Redis could not be
	unopened  error             // why it could not be
	directory *pipeline.Directory
}

// directoryMemory is for how long it is remembered which apps there are, and which lines there are not.
const directoryMemory = 10 * time.Second

// openLedger opens SQL alone. A ledger that has other terms is refused.
func openLedger(ctx context.Context, c *config.Meter, log *slog.Logger) (*meterParts, error) {
	parts, err := openAnyLedger(ctx, c, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := asking(ctx)
	defer cancel()
	if err := parts.ledger.CheckTerms(ctx, parts.terms()); err != nil {
		return nil, errors.Join(otherTerms(err), parts.close())
	}
	return parts, nil
}

// openAnyLedger leaves it to its caller to compare the terms.
func openAnyLedger(ctx context.Context, c *config.Meter, log *slog.Logger) (*meterParts, error) {
	calendar, err := meter.NewCalendar(c.Zone, int(c.Anchor))
	if err != nil {
		return nil, usageError{err}
	}
	parts := &meterParts{config: c, log: log, calendar: calendar, horizon: meter.Horizon{Retention: c.Retention, Tolerance: c.Tolerance, Ahead: meter.OpenAhead}}
	ctx, cancel := asking(ctx)
	defer cancel()
	if parts.ledger, err = meterledger.Open(ctx, c.Ledger, meterledger.Options{}); err != nil {
		return nil, err
	}
	parts.directory = pipeline.NewDirectory(parts.ledger, directoryMemory)
	return parts, nil
}

func (m *meterParts) terms() meterledger.Terms {
	return meterledger.Terms{Calendar: m.calendar, Horizon: m.horizon}
}

// otherTerms makes it wrong use that the configuration is not as the ledger has it.
func otherTerms(err error) error {
	if errors.Is(err, meterledger.ErrCalendar) || errors.Is(err, meterledger.ErrHorizon) {
		return usageError{err}
	}
	return err
}

// openMeter opens both.
func openMeter(ctx context.Context, c *config.Meter, log *slog.Logger) (*meterParts, error) {
	parts, err := openLedger(ctx, c, log)
	if err != nil {
		return nil, err
	}
	if err := parts.openRedis(ctx); err != nil {
		return nil, errors.Join(err, parts.close())
	}
	return parts, nil
}

// openRedis opens Redis, and says what to do where that is not possible.
func (m *meterParts) openRedis(ctx context.Context) (err error) {
	ctx, cancel := asking(ctx)
	defer cancel()
	m.meter, err = meterredis.Open(ctx, m.config.Redis, meterredis.Options{Calendar: m.calendar, Horizon: m.horizon}, m.log)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("this Redis was never hydrated, or has lost everything: fill it from SQL with `reprise meter hydrate` (%w)", err)
	case errors.Is(err, store.ErrLost):
		return fmt.Errorf("%w: fill it anew from SQL with `reprise meter hydrate`", err)
	}
	return err
}

func (m *meterParts) close() error {
	var err error
	if m.meter != nil {
		err = m.meter.Close()
	}
	return errors.Join(err, m.ledger.Close())
}

func (m *meterParts) keeper() *pipeline.Keeper {
	return &pipeline.Keeper{Meter: m.meter, Ledger: m.ledger, Directory: m.directory, Calendar: m.calendar, Horizon: m.horizon, KeepRows: m.config.KeepRows, Log: m.log}
}

func (m *meterParts) inspector() *inspect.Inspector {
	return &inspect.Inspector{Meter: m.meter, Unopened: m.unopened, Ledger: m.ledger, Calendar: m.calendar, Horizon: m.horizon}
}

// onLedger opens SQL for a command, and closes it.
func onLedger(cmd *cobra.Command, flags meterFlags, do func(ctx context.Context, m *meterParts) error) error {
	c, err := flags.load(keyLedger)
	if err != nil {
		return err
	}
	m, err := openLedger(cmd.Context(), c, newLogger(cmd.ErrOrStderr(), c.Log))
	if err != nil {
		return err
	}
	return errors.Join(do(cmd.Context(), m), m.close())
}

// onMeter opens both databases for a command, and closes them.
func onMeter(cmd *cobra.Command, flags meterFlags, do func(ctx context.Context, m *meterParts) error) error {
	c, err := flags.load(keyRedis, keyLedger)
	if err != nil {
		return err
	}
	m, err := openMeter(cmd.Context(), c, newLogger(cmd.ErrOrStderr(), c.Log))
	if err != nil {
		return err
	}
	return errors.Join(do(cmd.Context(), m), m.close())
}

// readToken reads the token of the listener; empty if there is none.
func readToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", usageError{fmt.Errorf("token-file: %w", err)}
	}
	token := strings.TrimSpace(string(text))
	if len(token) < 16 || strings.ContainsAny(token, " \t\r\n") {
		return "", usageError{fmt.Errorf("token-file: %s holds no token: write one line of at least 16 characters without spaces", file)}
	}
	return token, nil
}
