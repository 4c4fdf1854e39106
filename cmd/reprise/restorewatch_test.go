package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/restore"
)

// telling ends what writes to it with the first thing that is written.
type telling struct {
	bytes.Buffer
	end context.CancelFunc
}

func (w *telling) Write(p []byte) (int, error) {
	w.end()
	return w.Buffer.Write(p)
}

// Whoever watches a restore hears that its progress cannot be read, and is not left with a screen that stands still.
func TestWatchSaysThatSQLIsAway(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t).Database(t)
	if _, err := restore.Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	sessions, err := restore.Open(t.Context(), dsn, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := sessions.Close(); err != nil { // as good as away
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var out bytes.Buffer
	troubles := &telling{end: end}
	watch(ctx, &out, troubles, &restorePlace{sessions: sessions}, false)
	if said := troubles.String(); strings.Count(said, "progress cannot be read, and is asked for again") != 1 || out.Len() > 0 {
		t.Errorf("said %q, and %q as progress", said, out.String())
	}
}
