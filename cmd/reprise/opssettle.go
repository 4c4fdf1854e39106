package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/machine"
)

// settleFlags are a decision as it is typed.
type settleFlags struct {
	completed, retryable bool
	status               int
	headers              []string
	bodyFile             string
	codec                string
	who, why, evidence   string
	revision             uint64
	window, remember     time.Duration // zero: as the proxy does
}

func newOpsSettleCommand(o *operator) *cobra.Command {
	f := &settleFlags{}
	cmd := &cobra.Command{
		Use:   "settle DIGEST --completed|--retryable --who W --why TEXT",
		Short: "Decide an operation of which nobody knows whether it happened",
		Long: "Decides an abandoned record, for good.\n\n" +
			"  --completed  it happened: the answer given here replays from now on\n" +
			"  --retryable  it has not happened and can no longer happen: the key may be tried again\n\n" +
			"The decision is about the revision that was judged. Without --revision that is the one which this command\n" +
			"reads and prints first. If the record has changed meanwhile, nothing is done.\n\n" +
			"The answer replays, and the key is remembered, for as long as the route that the operation belongs to says in the\n" +
			"configuration of the proxy: name it with --config. Without it these are the proxy's defaults.",
		Example: "  reprise ops settle 3f1c9a52 --completed --status 201 \\\n" +
			"      --header 'Location: /orders/17' --body-file order.json \\\n" +
			"      --who ann --why 'order 17 is in the book' --evidence 'ticket 4711'\n" +
			"  reprise ops settle 3f1c9a52 --retryable --who ann \\\n" +
			"      --why 'the bank has never seen it'",
		Args: exactly("DIGEST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			decision, err := f.decision(cmd.InOrStdin())
			if err != nil {
				return err
			}
			return o.onRecord(cmd, args[0], func(ctx context.Context, service *admin.Service, digest machine.Digest) error {
				decision.Digest = digest
				return o.settle(ctx, cmd, service, f, decision)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.completed, "completed", false, "it happened")
	flags.BoolVar(&f.retryable, "retryable", false, "it has not happened and can no longer happen")
	flags.IntVar(&f.status, "status", 0, "status of the answer, with --completed")
	flags.StringArrayVar(&f.headers, "header", nil, "header of the answer, `'Name: value'` (repeatable)")
	flags.StringVar(&f.bodyFile, "body-file", "", "file with the answer's body; - is standard input")
	flags.StringVar(&f.codec, "codec", httpguard.Codec, "form of the answer; another than HTTP's, such as json/1 or raw/1, has only a body")
	flags.StringVar(&f.who, "who", "", "who decides (required)")
	flags.StringVar(&f.why, "why", "", "on what grounds (required)")
	flags.StringVar(&f.evidence, "evidence", "", "what was seen")
	flags.Uint64Var(&f.revision, "revision", 0, "revision that was judged (default: the one just read and printed)")
	flags.Var((*length)(&f.window), "replay-window", "how long the answer replays, such as 24h (default: as the route says)")
	flags.Var((*length)(&f.remember), "remember", "how long the key is remembered, such as 7d (default: as the route says)")
	return cmd
}

// check refuses what makes no sense before the store is opened.
func (f *settleFlags) check(cmd *cobra.Command) error {
	isHTTP := f.codec == httpguard.Codec
	reason := ""
	switch {
	case f.completed == f.retryable:
		reason = "say either --completed or --retryable"
	case strings.TrimSpace(f.who) == "":
		reason = "--who is missing: say who decides"
	case strings.TrimSpace(f.why) == "":
		reason = "--why is missing: say on what grounds"
	case f.retryable && (f.status != 0 || len(f.headers) > 0 || f.bodyFile != "" || cmd.Flags().Changed("codec")):
		reason = "--status, --header, --body-file and --codec belong to --completed"
	case f.completed && isHTTP && (f.status < 200 || f.status > 599):
		reason = "--status is missing or not between 200 and 599: it is part of the answer that callers will get"
	case f.completed && isHTTP && f.bodyFile != "" && (f.status == http.StatusNoContent || f.status == http.StatusNotModified):
		reason = fmt.Sprintf("an answer with --status %d has no body: leave out --body-file", f.status)
	case !isHTTP && (f.status != 0 || len(f.headers) > 0):
		reason = "an answer in codec " + f.codec + " has no --status and no --header"
	case cmd.Flags().Changed("revision") && f.revision == 0:
		reason = "--revision counts from 1"
	}
	if reason != "" {
		return usageError{errors.New(reason)}
	}
	return nil
}

func (f *settleFlags) decision(stdin io.Reader) (admin.Decision, error) {
	d := admin.Decision{Revision: f.revision, Completed: f.completed, Who: f.who, Why: f.why, Evidence: f.evidence}
	if !f.completed {
		return d, nil
	}
	header, err := parseHeaders(f.headers)
	if err != nil {
		return d, err
	}
	body, err := readBody(f.bodyFile, stdin)
	if err != nil {
		return d, err
	}
	if f.codec == httpguard.Codec {
		answer := httpguard.Answer{Status: f.status, Header: header, Body: body}.Response()
		d.Response = machine.NewResponse(answer.Codec, answer.Data)
	} else {
		d.Response = machine.NewResponse(f.codec, body)
	}
	return d, nil
}

// parseHeaders reads headers as HTTP does.
func parseHeaders(lines []string) (http.Header, error) {
	header := http.Header{}
	for _, line := range lines {
		reader := textproto.NewReader(bufio.NewReader(strings.NewReader(line + "\r\n\r\n")))
		parsed, err := reader.ReadMIMEHeader()
		if err != nil || len(parsed) != 1 || strings.ContainsAny(line, "\r\n\x00") {
			return nil, usageError{fmt.Errorf("--header %q is not of the form 'Name: value'", line)}
		}
		for name, values := range parsed {
			if httpguard.NeverReplayed(name) {
				return nil, usageError{fmt.Errorf("--header %s is never replayed: leave it out", name)}
			}
			header[name] = append(header[name], values...)
		}
	}
	return header, nil
}

func readBody(file string, stdin io.Reader) (body []byte, err error) {
	switch file {
	case "":
		return nil, nil
	case "-":
		body, err = io.ReadAll(stdin)
	default:
		body, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("--body-file: %w", err)
	}
	return body, nil
}

// settlement is what `settle --json` prints.
type settlement struct {
	Digest         string `json:"digest"`
	JudgedRevision uint64 `json:"judged_revision"`
	admin.Settled
}

func (o *operator) settle(ctx context.Context, cmd *cobra.Command, service *admin.Service, f *settleFlags, d admin.Decision) error {
	record, err := service.Show(ctx, d.Digest)
	if err != nil {
		return err
	}
	if d.Revision == 0 {
		d.Revision = record.Revision
		if !o.json {
			if err := printRecord(cmd.OutOrStdout(), record); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout())
		}
	}
	keep, err := o.keep(f, record)
	if err != nil {
		return err
	}
	d.Window, d.Remember = keep.window, keep.remember
	settled, err := service.Settle(ctx, d)
	if err != nil {
		return err
	}
	if o.json {
		return printLine(cmd.OutOrStdout(), settlement{d.Digest.String(), d.Revision, settled})
	}
	return printSettled(cmd.OutOrStdout(), cmd.ErrOrStderr(), d, settled, keep)
}

func printSettled(out, hints io.Writer, d admin.Decision, settled admin.Settled, keep kept) error {
	fmt.Fprintf(out, "settled revision %d as %s; the record is at revision %d now\n", d.Revision, settled.State, settled.Revision)
	t := newTable(out)
	lasts := func(name string, length time.Duration, until time.Time, from string) {
		t.row(name, moment(until), fmt.Sprintf("%s, %s", config.Spell(length), from))
	}
	if d.Completed {
		lasts("replays until", keep.window, settled.WindowEnd, keep.windowFrom)
	}
	lasts("remembered until", keep.remember, settled.RememberUntil, keep.rememberFrom)
	if keep.byDefault {
		fmt.Fprintln(hints, "the route may keep its own for another time: --config names the proxy's configuration")
	}
	return t.print()
}
