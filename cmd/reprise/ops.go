package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/machine"
)

// operator is what all `reprise ops` commands share: the store that they work on, and how they print.
// They need no secret, because they work on digests.
type operator struct {
	dsn     string
	file    string // the configuration of the proxy; empty: none is known
	environ []string
	json    bool
	options admin.Options
}

func newOpsCommand(p process) *cobra.Command {
	o := &operator{environ: p.Environ}
	cmd := &cobra.Command{
		Use:   "ops",
		Short: "List, show, settle and purge what a store has recorded",
		Long: "The operator's commands. They work on digests of keys and need no secret. They never create a store, nor\n" +
			"bring its schema up to date: that is `reprise migrate up`.\n\n" +
			"With --json each command prints one JSON object, and list one object a line.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	storeFlag(cmd, p, &o.dsn)
	cmd.PersistentFlags().StringVar(&o.file, "config", variable(p.Environ, configVariable),
		"configuration file of the proxy, which names the store if nothing else does (also "+configVariable+")")
	cmd.PersistentFlags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.AddCommand(
		newOpsListCommand(o),
		newOpsShowCommand(o),
		newOpsSettleCommand(o),
		newOpsPurgeCommand(o),
		newOpsStatsCommand(o),
		newOpsSecretCommand(o),
	)
	return cmd
}

// on opens the store for one command, which ends early on an interrupt.
func (o *operator) on(cmd *cobra.Command, work func(ctx context.Context, service *admin.Service) error) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dsn, err := o.storeOf(cmd)
	if err != nil {
		return err
	}
	p, err := parsePlace(dsn)
	if err != nil {
		return err
	}
	s, err := p.openStore(ctx, asItIs)
	if err != nil {
		return err
	}
	return errors.Join(work(ctx, admin.New(s, o.options)), s.Close())
}

// onRecord is on for a command about one record, named by its digest or the beginning of it.
func (o *operator) onRecord(cmd *cobra.Command, digest string, work func(ctx context.Context, service *admin.Service, digest machine.Digest) error) error {
	return o.on(cmd, func(ctx context.Context, service *admin.Service) error {
		found, err := service.Find(ctx, digest)
		if err != nil {
			return err
		}
		return work(ctx, service, found)
	})
}
