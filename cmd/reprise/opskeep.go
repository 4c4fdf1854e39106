package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/machine"
)

func newOpsPurgeCommand(o *operator) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "purge",
		Short: "Delete the records that are over",
		Long: "Deletes records whose remember-until has passed, in small steps, beside running processes. What is unfinished or\n" +
			"unknown is never deleted. It can be interrupted at any time, and goes on where it was when it is called again.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.on(cmd, func(ctx context.Context, service *admin.Service) error { return o.purge(ctx, cmd, service) })
		},
	}
	cmd.Flags().IntVar(&o.options.Batch, "batch", 500, "records in a step, at most 1000")
	return cmd
}

func (o *operator) purge(ctx context.Context, cmd *cobra.Command, service *admin.Service) error {
	told := 0
	deleted, err := service.Purge(ctx, func(deleted int) {
		if deleted-told >= 10_000 {
			told = deleted
			fmt.Fprintf(cmd.ErrOrStderr(), "deleted %d\n", deleted)
		}
	})
	if err != nil {
		return fmt.Errorf("after %d records: %w", deleted, err)
	}
	if o.json {
		return printLine(cmd.OutOrStdout(), map[string]int{"deleted": deleted})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "deleted %d records\n", deleted)
	return err
}

func newOpsStatsCommand(o *operator) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Count the records by state",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.on(cmd, func(ctx context.Context, service *admin.Service) error { return o.stats(ctx, cmd, service) })
		},
	}
}

func (o *operator) stats(ctx context.Context, cmd *cobra.Command, service *admin.Service) error {
	stats, err := service.Stats(ctx)
	if err != nil {
		return err
	}
	if o.json {
		return printLine(cmd.OutOrStdout(), stats)
	}
	t := newTable(cmd.OutOrStdout())
	t.row("STATE", "RECORDS")
	for state := machine.Claimed; state <= machine.Expired; state++ {
		t.row(state.String(), strconv.FormatInt(stats.States[state.String()], 10))
	}
	t.row("to be purged", strconv.FormatInt(stats.Due, 10))
	if err := t.print(); err != nil {
		return err
	}
	if stats.Sampled {
		fmt.Fprintln(cmd.ErrOrStderr(), "these numbers are an estimate")
	}
	return nil
}

func newOpsSecretCommand(o *operator) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Versions of the secret",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "retire VERSION",
		Short: "Give up a version of the secret that no record needs any more",
		Long: "Looks at every record first, and refuses while one lives under that version or while that version still makes\n" +
			"records. Afterwards keys are looked up under the other versions only, and the version can be taken out of the secret file.",
		Args: exactly("VERSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := strconv.ParseUint(args[0], 10, 32)
			if err != nil || version == 0 {
				return usageError{fmt.Errorf("%q is not a version of the secret: it is a number from 1 on", args[0])}
			}
			return o.on(cmd, func(ctx context.Context, service *admin.Service) error {
				return o.retire(ctx, cmd, service, uint32(version))
			})
		},
	})
	return cmd
}

func (o *operator) retire(ctx context.Context, cmd *cobra.Command, service *admin.Service, version uint32) error {
	if err := service.RetireSecret(ctx, version); err != nil {
		return err
	}
	if o.json {
		return printLine(cmd.OutOrStdout(), map[string]uint32{"retired": version})
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "version %d of the secret is retired: it can be taken out of the secret file\n", version)
	return err
}
