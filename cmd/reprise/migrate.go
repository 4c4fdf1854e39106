package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/restore"
)

func newMigrateCommand(p process) *cobra.Command {
	var dsn, ledger string
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring a store's schema up to date",
		Long: "For a SQLite file this is for doing it beforehand, or for whoever reviews the SQL first: a process brings the schema up to\n" +
			"date by itself when it starts. On a server nothing else does it, because the role of a service need not have the right.\n\n" +
			"These commands never make a store: that is `reprise store init --new`. On a server `up` makes the schema where there is\n" +
			"none, which is no store yet. Redis has no schema: there is nothing to do, and nothing is done.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	storeFlag(cmd, p, &dsn)
	cmd.PersistentFlags().StringVar(&ledger, "ledger", "", "the meter's ledger instead of a store, such as mysql://app@db/meter or postgres://app@db/meter")
	cmd.AddCommand(
		&cobra.Command{
			Use: "up", Short: "Bring the schema up to date, all of it or nothing", Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error {
				if ledger != "" {
					return migrateLedger(cmd, ledger)
				}
				return migrateUp(cmd, dsn)
			},
		},
		&cobra.Command{
			Use: "status", Short: "Say which schema the store has; change nothing", Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error {
				if ledger != "" {
					return ledgerStatus(cmd, ledger)
				}
				return migrateStatus(cmd, dsn)
			},
		},
		newMigratePrintCommand(&dsn, &ledger),
	)
	return cmd
}

func migrateUp(cmd *cobra.Command, dsn string) error {
	p, err := placeWithSchema(dsn)
	if err != nil {
		return err
	}
	before, err := p.schema.status(cmd.Context())
	if err != nil {
		return err
	}
	after, err := p.schema.migrate(cmd.Context())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if before.version == after.version {
		_, err = fmt.Fprintf(out, "schema %d: nothing to do\n", after.version)
		return err
	}
	if _, err = fmt.Fprintf(out, "schema %d is now %d\n", before.version, after.version); err != nil || before.version > 0 {
		return err
	}
	known, err := p.knows(cmd.Context())
	switch {
	case err != nil:
		return fmt.Errorf("the schema is made, and cannot be looked into: %w", err)
	case known:
		_, err = fmt.Fprintln(out, "It knows of a secret: the tables were those of a store, and it goes on with what it has.")
	default:
		_, err = fmt.Fprintf(out, "It is no store yet. If no key was used before: reprise store init --new --store %s\n", p.argument())
	}
	return err
}

// knows reports whether a place knows of a secret, which makes it a store.
func (p *place) knows(ctx context.Context) (bool, error) {
	s, _, err := p.open(ctx, asItIs)
	if err != nil {
		return false, err
	}
	known, err := knownSecrets(ctx, s)
	return len(known) > 0, errors.Join(err, s.Close())
}

func migrateStatus(cmd *cobra.Command, dsn string) error {
	p, err := placeWithSchema(dsn)
	if err != nil {
		return err
	}
	status, err := p.schema.status(cmd.Context())
	if err != nil {
		return err
	}
	word := "up to date"
	switch {
	case status.version == 0:
		word = "there is none; `reprise store init --new` makes a store, and `reprise migrate up` the schema alone"
	case status.version < status.latest:
		word = "run `reprise migrate up`"
	case status.version > status.latest:
		word = "newer than this version of reprise"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "schema %d, this version makes %d: %s\n", status.version, status.latest, word)
	return err
}

func newMigratePrintCommand(dsn, ledger *string) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print the SQL of all migrations, in order",
		Long: "Prints the SQL of all migrations, in order, and connects to nothing. On a server it makes a new schema (psql -1 -f, mariadb < FILE), and\n" +
			"ends with the rights that the role of a service needs. With --ledger it is the SQL of the meter's ledger and of restores.",
		Example: "  reprise migrate print --store postgres:// --role reprise_service\n" +
			"  reprise migrate print --ledger postgres:// --role reprise_meter",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if *ledger != "" {
				return printLedger(cmd, *ledger, role)
			}
			p, err := placeWithSchema(*dsn)
			if err != nil {
				return err
			}
			text, err := p.schema.print(role)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "the role of the service, which the SQL gives its rights; without it they are a comment")
	return cmd
}

// placeWithSchema reads a DSN of what has a schema.
func placeWithSchema(dsn string) (*place, error) {
	p, err := parsePlace(dsn)
	if err == nil && p.schema == nil {
		err = usageError{errors.New(p.noSchema)}
	}
	return p, err
}

// ledgerSchemas are what stands in the ledger's database.
func ledgerSchemas() []ledgerSchema {
	return []ledgerSchema{
		{"the ledger", meterledger.Status, meterledger.Migrate, meterledger.Print},
		{"restores", restore.Status, restore.Migrate, restore.Print},
	}
}

type ledgerSchema struct {
	of              string
	status, migrate func(ctx context.Context, dsn string) (restore.SchemaStatus, error)
	print           func(dsn, role string) (string, error)
}

func printLedger(cmd *cobra.Command, dsn, role string) error {
	if err := checkLedger(dsn); err != nil {
		return err
	}
	for _, schema := range ledgerSchemas() {
		text, err := schema.print(dsn, role)
		if err == nil {
			_, err = io.WriteString(cmd.OutOrStdout(), text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkLedger refuses a DSN that makes no sense before anything is opened.
func checkLedger(dsn string) error {
	if err := meterledger.CheckDSN(dsn); err != nil {
		return usageError{errors.New(printable(err.Error()))}
	}
	return nil
}

func migrateLedger(cmd *cobra.Command, dsn string) error {
	if err := checkLedger(dsn); err != nil {
		return err
	}
	for _, schema := range ledgerSchemas() {
		before, err := schema.status(cmd.Context(), dsn)
		if err != nil {
			return err
		}
		after, err := schema.migrate(cmd.Context(), dsn)
		if err != nil {
			return err
		}
		if before.Version == after.Version {
			fmt.Fprintf(cmd.OutOrStdout(), "tables of %s %d: nothing to do\n", schema.of, after.Version)
		} else {
			fmt.Fprintf(cmd.OutOrStdout(), "tables of %s %d are now %d\n", schema.of, before.Version, after.Version)
		}
	}
	return nil
}

func ledgerStatus(cmd *cobra.Command, dsn string) error {
	if err := checkLedger(dsn); err != nil {
		return err
	}
	for _, schema := range ledgerSchemas() {
		status, err := schema.status(cmd.Context(), dsn)
		if err != nil {
			return err
		}
		word := "up to date"
		if status.Pending() {
			word = "run `reprise migrate up --ledger DSN`"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "tables of %s %d, this version makes %d: %s\n", schema.of, status.Version, status.Latest, word)
	}
	return nil
}
