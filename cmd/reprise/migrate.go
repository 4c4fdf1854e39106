package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/meter/meterledger"
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
		newMigratePrintCommand(&dsn),
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
	if _, err = fmt.Fprintf(out, "schema %d is now %d\n", before.version, after.version); err == nil && before.version == 0 {
		_, err = fmt.Fprintf(out, "It is no store yet. If no key was used before: reprise store init --new --store %s\n", p.argument())
	}
	return err
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

func newMigratePrintCommand(dsn *string) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print the SQL of all migrations, in order",
		Long: "Prints the SQL of all migrations, in order, and connects to nothing. On a server it makes a new schema (psql -1 -f, mariadb < FILE), and\n" +
			"ends with the rights that the role of a service needs.",
		Example: "  reprise migrate print --store postgres:// --role reprise_service",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
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

func migrateLedger(cmd *cobra.Command, dsn string) error {
	before, err := meterledger.Status(cmd.Context(), dsn)
	if err != nil {
		return err
	}
	after, err := meterledger.Migrate(cmd.Context(), dsn)
	if err != nil {
		return err
	}
	if before.Version == after.Version {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "tables of the ledger %d: nothing to do\n", after.Version)
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "tables of the ledger %d are now %d\n", before.Version, after.Version)
	return err
}

func ledgerStatus(cmd *cobra.Command, dsn string) error {
	status, err := meterledger.Status(cmd.Context(), dsn)
	if err != nil {
		return err
	}
	word := "up to date"
	if status.Pending() {
		word = "run `reprise migrate up --ledger DSN`"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "tables of the ledger %d, this version makes %d: %s\n", status.Version, status.Latest, word)
	return err
}
