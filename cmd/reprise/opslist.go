package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/machine"
)

func newOpsListCommand(o *operator) *cobra.Command {
	var states []string
	var limit int
	query := admin.Query{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List records",
		Example: "  reprise ops list --store sqlite:reprise.db --state abandoned\n" +
			"  reprise ops list --state executing --older-than 1h --json",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if query.States, err = parseStates(states); err != nil {
				return err
			}
			if limit < 0 || query.OlderThan < 0 {
				return usageError{fmt.Errorf("--limit and --older-than cannot be negative")}
			}
			return o.on(cmd, func(ctx context.Context, service *admin.Service) error {
				return list(ctx, service, query, limit, newRecordPrinter(cmd, o.json))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&states, "state", nil, "only records in this state: claimed, executing, completed, retryable, abandoned or expired (repeatable)")
	flags.StringVar(&query.Operation, "operation", "", "only records of the operation with this name")
	flags.Var((*length)(&query.OlderThan), "older-than", "only records claimed longer ago than this, such as 90m")
	flags.IntVar(&limit, "limit", 50, "print at most so many records; 0 prints all")
	flags.StringVar(&query.Cursor, "cursor", "", "go on from where an earlier list ended")
	return cmd
}

func parseStates(names []string) ([]machine.State, error) {
	var states []machine.State
	for _, name := range names {
		state, ok := machine.ParseState(name)
		if !ok || state == machine.Absent {
			return nil, usageError{fmt.Errorf("--state %q: a record is claimed, executing, completed, retryable, abandoned or expired", name)}
		}
		states = append(states, state)
	}
	return states, nil
}

// list prints pages until the limit is reached or none is left.
func list(ctx context.Context, service *admin.Service, query admin.Query, limit int, printer *recordPrinter) error {
	for {
		query.Limit = 500
		if limit > 0 {
			query.Limit = min(query.Limit, limit-printer.records)
		}
		page, err := service.List(ctx, query)
		if err != nil {
			return err
		}
		if err := printer.page(page); err != nil {
			return err
		}
		query.Cursor = page.Next
		if query.Cursor == "" || limit > 0 && printer.records >= limit {
			return printer.end(query.Cursor)
		}
	}
}

// recordPrinter prints pages of records: a table, or one JSON object a line.
type recordPrinter struct {
	json    bool
	cmd     *cobra.Command
	table   *table
	records int
	partial bool
	scanned time.Time
}

func newRecordPrinter(cmd *cobra.Command, json bool) *recordPrinter {
	return &recordPrinter{json: json, cmd: cmd, table: newTable(cmd.OutOrStdout())}
}

func (p *recordPrinter) page(page admin.Page) error {
	p.partial, p.scanned = page.Partial, page.ScannedAt
	for _, digest := range page.Unreadable {
		page.Records = append(page.Records, admin.Record{Digest: digest, State: "unreadable"})
	}
	p.records += len(page.Records)
	if p.json {
		for _, r := range page.Records {
			if err := printLine(p.cmd.OutOrStdout(), r); err != nil {
				return err
			}
		}
		return nil
	}
	for _, r := range page.Records {
		if p.table.empty() {
			p.table.row("DIGEST", "STATE", "AGE", "ATTEMPT", "REVISION", "OPERATION", "REASON")
		}
		p.table.row(r.Digest[:16], r.State, age(r.Claimed, page.At), fmt.Sprint(r.Attempt), fmt.Sprint(r.Revision), shortened(r.Operation, 40), shortened(r.Reason, 60))
	}
	return p.table.print() // page by page, so that a long listing is not held in memory
}

// end prints what is left to say. What is not a record goes to standard error.
func (p *recordPrinter) end(next string) error {
	notes := p.cmd.ErrOrStderr()
	if p.records == 0 && next == "" {
		fmt.Fprintln(notes, "no records")
	}
	if p.partial {
		fmt.Fprintf(notes, "not every record was looked at; %s\n", scannedAt(p.scanned))
	}
	if next != "" {
		fmt.Fprintf(notes, "there are more: go on with --cursor %s\n", next)
	}
	return nil
}

// scannedAt says how old a listing is.
func scannedAt(t time.Time) string {
	if t.IsZero() {
		return "interrupted executions were not looked for yet: ask again in a minute"
	}
	return "scanned at " + t.Format(time.RFC3339)
}
