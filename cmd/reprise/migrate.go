package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/store/sqlitestore"
)

func newMigrateCommand(p process) *cobra.Command {
	var dsn string
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring a store's schema up to date",
		Long: "A process brings the schema up to date by itself when it starts. These commands are for doing it beforehand, or for\n" +
			"whoever reviews the SQL first. They never create a store: that is `reprise store init --new`.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	storeFlag(cmd, p, &dsn)
	cmd.AddCommand(
		&cobra.Command{
			Use: "up", Short: "Bring the schema up to date, all of it or nothing", Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return migrateUp(cmd, dsn) },
		},
		&cobra.Command{
			Use: "status", Short: "Say which schema the store has; change nothing", Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return migrateStatus(cmd, dsn) },
		},
		&cobra.Command{
			Use: "print", Short: "Print the SQL of all migrations, in order", Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return migratePrint(cmd, dsn) },
		},
	)
	return cmd
}

func migrateUp(cmd *cobra.Command, dsn string) error {
	path, err := fileOf(dsn)
	if err != nil {
		return err
	}
	before, err := sqlitestore.Status(cmd.Context(), path)
	if err != nil {
		return err
	}
	after, err := sqlitestore.Migrate(cmd.Context(), path)
	if err != nil {
		return err
	}
	if before.Version == after.Version {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "schema %d: nothing to do\n", after.Version)
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "schema %d is now %d\n", before.Version, after.Version)
	return err
}

func migrateStatus(cmd *cobra.Command, dsn string) error {
	path, err := fileOf(dsn)
	if err != nil {
		return err
	}
	status, err := sqlitestore.Status(cmd.Context(), path)
	if err != nil {
		return err
	}
	word := "up to date"
	switch {
	case status.Pending():
		word = "run `reprise migrate up`"
	case status.Version > status.Latest:
		word = "newer than this version of reprise"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "schema %d, this version makes %d: %s\n", status.Version, status.Latest, word)
	return err
}

func migratePrint(cmd *cobra.Command, dsn string) error {
	if _, err := fileOf(dsn); err != nil {
		return err
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), sqlitestore.Print())
	return err
}
