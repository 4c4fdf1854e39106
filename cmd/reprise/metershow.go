package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
)

func newMeterShowCommand(p process) *cobra.Command {
	var month string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show line|family ID [--month M]",
		Short: "Show what Redis and SQL hold, and why nothing is decided",
		Args:  exactly("line|family", "ID"),
	}
	flags := addMeterFlags(cmd, p, false)
	cmd.Flags().StringVar(&month, "month", "", "the month, yyyyMM; the present one if it is not said")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if args[0] != "line" && args[0] != "family" {
			return usageError{fmt.Errorf("%q: write line or family, and its id", args[0])}
		}
		wanted, err := monthFlag(month)
		if err != nil {
			return err
		}
		return onMeterIfThere(cmd, flags, func(ctx context.Context, m *meterParts) error {
			s, err := statusOf(ctx, m.inspector(), args[0], args[1], wanted)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(s)
			}
			return printStatus(cmd.OutOrStdout(), s)
		})
	}
	return cmd
}

// onMeterIfThere opens both databases, and goes on without Redis, so that it can be said why.
func onMeterIfThere(cmd *cobra.Command, flags meterFlags, do func(ctx context.Context, m *meterParts) error) error {
	c, err := flags.load(keyRedis, keyLedger)
	if err != nil {
		return err
	}
	m, err := openLedger(cmd.Context(), c, newLogger(cmd.ErrOrStderr(), c.Log))
	if err != nil {
		return err
	}
	if err := m.openRedis(cmd.Context()); err != nil {
		m.meter, m.unopened = nil, err
	}
	return errors.Join(do(cmd.Context(), m), m.close())
}

func statusOf(ctx context.Context, i *inspect.Inspector, kind, id string, month meter.Month) (inspect.Status, error) {
	if kind == "family" {
		return i.Family(ctx, time.Now(), id, month)
	}
	return i.Line(ctx, time.Now(), id, month)
}

func printStatus(out io.Writer, s inspect.Status) error {
	t := newTable(out)
	t.field("line", s.Line)
	t.field("family", s.Family)
	t.field("lines", strings.Join(s.Lines, " "))
	t.field("month", s.Month.String())
	t.field("day", s.Day.String())
	t.field("generation", string(s.Generation))
	if s.Decides {
		t.field("decides", "yes")
	} else {
		t.field("decides", "no: nothing is decided")
		for _, c := range s.Why {
			t.field("because", string(c.Reason)+": "+c.Detail)
		}
	}
	if s.Unconfirmed > 0 {
		t.field("grants", fmt.Sprintf("%d are not in Redis yet", s.Unconfirmed))
	}
	if err := t.print(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	t = newTable(out)
	t.row("", "PLAN", "GRANTED", "LEFT BY SQL", "LEFT IN REDIS")
	redis := func(number func(*inspect.Holding) int64) string {
		if s.Redis == nil {
			return "?"
		}
		return strconv.FormatInt(number(s.Redis), 10)
	}
	amounts := func(name string, of func(inspect.Amounts) int64) {
		t.row(name, fmt.Sprint(of(s.Plan)), fmt.Sprint(of(s.Granted)), fmt.Sprint(of(s.SQL.Left)), redis(func(h *inspect.Holding) int64 { return of(h.Left) }))
	}
	if s.Line != "" {
		amounts("individual", func(a inspect.Amounts) int64 { return a.Individual })
		amounts("qos", func(a inspect.Amounts) int64 { return a.QoS })
	} else {
		amounts("shared", func(a inspect.Amounts) int64 { return a.Shared })
	}
	counted := func(name string, of func(*inspect.Holding) int64) {
		t.row(name, "", "", fmt.Sprint(of(s.SQL)), redis(of))
	}
	if s.Line != "" {
		counted("served on the day", func(h *inspect.Holding) int64 { return h.Today })
		counted("shared in the month", func(h *inspect.Holding) int64 { return h.MonthlyShared })
	}
	counted("changes", func(h *inspect.Holding) int64 { return h.Version })
	return t.print()
}
