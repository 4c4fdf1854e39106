package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

func newMeterDeadLettersCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead-letters",
		Short: "Look at events that were refused for good, and send them again",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDeadListCommand(p), newDeadResendCommand(p))
	return cmd
}

// deadPage is how many are read at once.
const deadPage = 1000

// eachDeadLetter calls do with every dead letter, until it says that it has enough.
func eachDeadLetter(ctx context.Context, streams *meterredis.Streams, do func(meterredis.DeadLetter) (more bool, err error)) error {
	for shard := range meterredis.Shards {
		for after := ""; ; {
			page, err := streams.DeadLetters(ctx, shard, after, deadPage)
			if err != nil {
				return err
			}
			for _, d := range page {
				if more, err := do(d); err != nil || !more {
					return err
				}
				after = d.ID
			}
			if len(page) < deadPage {
				break
			}
		}
	}
	return nil
}

// deadName names a dead letter: its shard and its id there.
func deadName(d meterredis.DeadLetter) string { return strconv.Itoa(d.Shard) + "/" + d.ID }

func newDeadListCommand(p process) *cobra.Command {
	var limit int
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List dead letters with their reasons", Args: noArguments}
	flags := addMeterFlags(cmd, p, false)
	cmd.Flags().IntVar(&limit, "limit", 100, "at most so many; 0 is all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return onMeter(cmd, flags, func(ctx context.Context, m *meterParts) error {
			streams, err := m.meter.OpenStreams(ctx, m.config.StreamLimit)
			if err != nil {
				return err
			}
			out, t := json.NewEncoder(cmd.OutOrStdout()), newTable(cmd.OutOrStdout())
			n := 0
			err = eachDeadLetter(ctx, streams, func(d meterredis.DeadLetter) (bool, error) {
				if n++; limit > 0 && n > limit {
					return false, nil
				}
				if asJSON {
					return true, out.Encode(map[string]string{"letter": deadName(d), "reason": string(d.Reason), "detail": d.Detail, "event": d.Text})
				}
				if t.empty() {
					t.row("LETTER", "REASON", "EVENT", "DETAIL")
				}
				t.row(deadName(d), string(d.Reason), d.Text, d.Detail)
				return true, nil
			})
			if asJSON || err != nil {
				return err
			}
			if t.empty() {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "there are no dead letters")
				return err
			}
			return t.print()
		})
	}
	return cmd
}

func newDeadResendCommand(p process) *cobra.Command {
	var all bool
	var reason string
	cmd := &cobra.Command{
		Use:   "resend LETTER… | --all | --reason REASON",
		Short: "Put dead letters back into their streams, to be decided again",
		Long:  "An event that was decided meanwhile is not counted again. One whose reason is still there becomes a dead letter again.",
		Args:  cobra.ArbitraryArgs,
	}
	flags := addMeterFlags(cmd, p, false)
	cmd.Flags().BoolVar(&all, "all", false, "all of them")
	cmd.Flags().StringVar(&reason, "reason", "", "those with this reason, such as missing_allowance")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if ways := btoi(all) + btoi(reason != "") + btoi(len(args) > 0); ways != 1 {
			return usageError{errors.New("say which: letters as `dead-letters list` names them, or --reason, or --all")}
		}
		wanted := map[string]bool{}
		for _, name := range args {
			wanted[name] = true
		}
		return onMeter(cmd, flags, func(ctx context.Context, m *meterParts) error {
			sent, err := resend(ctx, m, func(d meterredis.DeadLetter) bool {
				return all || reason != "" && d.Reason == meter.Reason(reason) || wanted[deadName(d)]
			}, wanted)
			if err != nil {
				return err
			}
			if len(wanted) > 0 {
				return fmt.Errorf("%d were sent again; there is no letter %s", sent, strings.Join(keysOf(wanted), ", "))
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d were sent again\n", sent)
			return err
		})
	}
	return cmd
}

// resend sends again what fits of the letters that are there now, and strikes them off.
func resend(ctx context.Context, m *meterParts, fits func(meterredis.DeadLetter) bool, wanted map[string]bool) (sent int, err error) {
	streams, err := m.meter.OpenStreams(ctx, m.config.StreamLimit)
	if err != nil {
		return 0, err
	}
	var letters []meterredis.DeadLetter // listed first: one that is refused again would come again
	if err := eachDeadLetter(ctx, streams, func(d meterredis.DeadLetter) (bool, error) {
		if fits(d) {
			letters = append(letters, d)
		}
		return true, nil
	}); err != nil {
		return 0, err
	}
	for _, d := range letters {
		there, err := streams.Resend(ctx, d)
		if err != nil {
			return sent, err
		}
		if there {
			sent++
		}
		delete(wanted, deadName(d))
	}
	return sent, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func keysOf[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}
