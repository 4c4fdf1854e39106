package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newStoreCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Create a store, copy one into another, or accept what one has lost",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStoreInitCommand(p), newStoreCopyCommand(p))
	return cmd
}

func newStoreInitCommand(p process) *cobra.Command {
	var dsn, secretFile string
	var isNew, acceptLoss bool
	var by decision
	cmd := &cobra.Command{
		Use:   "init --new | --accept-loss --who NAME --why REASON",
		Short: "Create a new, empty store, or accept what a store has lost",
		Long: "With --new: creates a store where there is none, and refuses where there is a store, or a database of something else. --new says\n" +
			"that no key was used before, or that those no longer matter: to the new store every key is new, and a retry of a request from\n" +
			"before runs again.\n\n" +
			"The secret of a SQLite file is made beside it; one that is there without a database is kept. A store on a server is told\n" +
			"the secret that its processes will have: --secret-file, or " + secretVariable + ". Its schema is made if it is missing, which takes a\n" +
			"role that may. Redis has no schema.\n\n" +
			"With --accept-loss: a Redis that lost data, or may have, because it was emptied, restarted, restored or failed over, is refused\n" +
			"until somebody has looked and says so. Keys whose records were lost run again when they are retried; records that are\n" +
			"still there stay. It is kept in the store who decided, and why. Where the secret was lost too, the store is told it again.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case isNew && acceptLoss:
				return usageError{errors.New("--new and --accept-loss exclude each other: a new store has lost nothing")}
			case !isNew && !acceptLoss:
				return usageError{errors.New("say --new if no key was used before, or those that were no longer matter; or --accept-loss if the store has lost data (see reprise store init --help)")}
			}
			if err := by.check(acceptLoss); err != nil {
				return err
			}
			place, err := parsePlace(dsn)
			if err != nil {
				return err
			}
			given := variable(p.Environ, secretVariable)
			if acceptLoss {
				return acceptLossOf(cmd, place, by, secretFile, given)
			}
			return makeNew(cmd, place, secretFile, given)
		},
	}
	storeFlag(cmd, p, &dsn)
	cmd.Flags().BoolVar(&isNew, "new", false, "there was no store before")
	cmd.Flags().BoolVar(&acceptLoss, "accept-loss", false, "the store has lost data, or may have, and goes on with what it has")
	cmd.Flags().StringVar(&by.who, "who", "", "who accepts the loss")
	cmd.Flags().StringVar(&by.why, "why", "", "on what grounds")
	cmd.Flags().StringVar(&secretFile, "secret-file", variable(p.Environ, secretFileVariable), "the secret of the store (also "+secretFileVariable+", or the secret itself in "+secretVariable+")")
	return cmd
}

func makeNew(cmd *cobra.Command, p *place, secretFile, given string) error {
	if p.init == nil {
		return usageError{errors.New(p.noSchema)}
	}
	secret, err := newSecretSource(p, secretFile, given)
	if err != nil {
		return err
	}
	return p.init(cmd.Context(), secret, cmd.OutOrStdout())
}

// storeFile is the database where none is named, as in the configuration of the proxy.
const storeFile = "reprise.db"

// storeFlag gives a command, and those below it, the flag that names the store.
func storeFlag(cmd *cobra.Command, p process, dsn *string) {
	const otherwise = "sqlite:" + storeFile
	cmd.PersistentFlags().StringVar(dsn, "store", otherwise, "the store, such as sqlite:reprise.db, postgres://app@db/app, mysql://app@db/app or redis://app@redis/0 (also REPRISE_STORE)")
	if named := variable(p.Environ, "REPRISE_STORE"); named != "" {
		*dsn = named // not as the flag's default, which help prints: it may hold a password
	}
}
