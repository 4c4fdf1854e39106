package proxy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
)

// forgetful takes the beginning of operations, and not what came of them, as a server does that gives no right to that.
type forgetful struct{ *memstore.Store }

func (f forgetful) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	if command.Kind() == machine.KindComplete {
		return machine.Reply{}, store.Unavailable(errors.New("permission denied"))
	}
	return f.Store.Apply(ctx, command)
}

// A store in which nothing can be completed is refused at start, and not waited for.
func TestSelfTestThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, nil)
	at := route(t, "/")
	at.Policy.CommandTimeout = 20 * time.Millisecond
	if _, err := New(t.Context(), forgetful{memstore.New(nil)}, guarding(t, up, at), nil); err == nil || !strings.Contains(err.Error(), "may lack a right") {
		t.Errorf("started: %v", err)
	}
}
