package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/machine"
)

func newOpsShowCommand(o *operator) *cobra.Command {
	var answer bool
	cmd := &cobra.Command{
		Use:   "show DIGEST",
		Short: "Show one record",
		Long: "Shows one record. DIGEST is all 64 characters, or at least the first 8 if only one record begins with them.\n" +
			"The recorded answer may hold what only the caller should see, and is printed with --answer only.",
		Args: exactly("DIGEST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.onRecord(cmd, args[0], func(ctx context.Context, service *admin.Service, digest machine.Digest) error {
				return o.show(ctx, cmd.OutOrStdout(), service, digest, answer)
			})
		},
	}
	cmd.Flags().BoolVar(&answer, "answer", false, "also print the recorded answer, or the evidence of an operation that has none")
	return cmd
}

// shown is what `show --json` prints.
type shown struct {
	admin.Record
	Response *response `json:"response,omitempty"`
}

// response is a recorded answer as it is printed. Of an HTTP answer it has the parts, of another only
// the body.
type response struct {
	Status  int         `json:"status,omitempty"`
	Headers http.Header `json:"headers,omitempty"`
	Body    []byte      `json:"body"` // base64 in JSON
}

func (o *operator) show(ctx context.Context, out io.Writer, service *admin.Service, digest machine.Digest, withAnswer bool) error {
	record, err := service.Show(ctx, digest)
	if err != nil {
		return err
	}
	s := shown{Record: record}
	if withAnswer {
		if s.Response, err = readResponse(ctx, service, digest); err != nil {
			return err
		}
	}
	if o.json {
		return printLine(out, s)
	}
	if err := printRecord(out, record); err != nil {
		return err
	}
	return s.Response.print(out)
}

// readResponse returns the answer of a record, nil when there is none.
func readResponse(ctx context.Context, service *admin.Service, digest machine.Digest) (*response, error) {
	recorded, err := service.Response(ctx, digest)
	if errors.Is(err, admin.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if recorded.Codec != httpguard.Codec || recorded.Sealed != "" {
		return &response{Body: recorded.Data}, nil
	}
	a, err := httpguard.ReadAnswer(reprise.Response{Codec: recorded.Codec, Data: recorded.Data})
	if err != nil {
		return nil, err
	}
	return &response{Status: a.Status, Headers: a.Header, Body: a.Body}, nil
}

func (r *response) print(out io.Writer) error {
	if r == nil {
		return nil
	}
	fmt.Fprintln(out)
	if r.Status != 0 {
		fmt.Fprintln(out, r.Status, http.StatusText(r.Status))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		for _, value := range r.Headers[name] {
			fmt.Fprintln(out, printable(name+": "+value))
		}
	}
	if len(r.Body) == 0 {
		_, err := fmt.Fprintln(out, "(no body)")
		return err
	}
	if !utf8.Valid(r.Body) {
		_, err := fmt.Fprintf(out, "(%d bytes that are not text: use --json)\n", len(r.Body))
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", printableText(r.Body))
	return err
}

func printRecord(out io.Writer, r admin.Record) error {
	t := newTable(out)
	t.field("digest", r.Digest)
	t.field("operation", r.Operation)
	t.field("state", r.State)
	t.field("reason", r.Reason)
	t.field("attempt", fmt.Sprint(r.Attempt))
	t.field("revision", fmt.Sprintf("%d (by %s)", r.Revision, r.LastChange))
	t.field("if interrupted", r.Interruption)
	t.field("secret version", fmt.Sprint(r.SecretVersion))
	t.field("claimed", moment(r.Claimed))
	t.field("started", moment(r.Started))
	t.field("finished", moment(r.Finished))
	t.field("lease end", moment(r.LeaseEnd))
	t.field("replays until", moment(r.WindowEnd))
	t.field("remembered until", moment(r.RememberUntil))
	if a := r.Answer; a != nil {
		name, kept := "answer", ""
		if a.Evidence {
			name = "evidence"
		}
		if a.NotKept {
			kept = ", not kept"
		}
		t.field(name, fmt.Sprintf("%d bytes, codec %s%s", a.Bytes, a.Codec, kept))
	}
	if s := r.Settlement; s != nil {
		t.field("settled by", s.Who)
		t.field("settled at", moment(s.At))
		t.field("because", s.Why)
		t.field("evidence seen", s.Evidence)
	}
	return t.print()
}
