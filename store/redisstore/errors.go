package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/store"
)

var errClosed = errors.New("the store is closed")

// lostBucket says that a bucket's generation is missing or another one.
func lostBucket(bucket int) error {
	return fmt.Errorf("%w: bucket %04d of Redis has another generation than this process knows, or none: it was emptied, replaced or restored. Nothing runs until an operator decides: see docs/operating.md", store.ErrLost, bucket)
}

// refusals are error replies by which a server says that it did not run a command, and what to do.
var refusals = []struct{ prefix, hint string }{
	{"LOADING", "Redis is still loading its data: wait"},
	{"READONLY", "this Redis is a replica: check where the primary is"},
	{"MASTERDOWN", "this replica has lost its primary: check where the primary is"},
	{"CLUSTERDOWN", "the cluster does not serve this slot: look at `CLUSTER INFO`"},
	{"TRYAGAIN", "the slot is being migrated: try again"},
	{"OOM", "Redis has reached its maxmemory: give it more"},
	{"MISCONF", "Redis cannot write its snapshots and refuses writes: look at its log and its disk"},
	{"NOREPLICAS", "too few replicas are connected: see min-replicas-to-write"},
	{"BUSY", "a script of somebody else runs for long: look at `SLOWLOG GET`"},
	{"NOAUTH", "Redis asks for a password: give it in the DSN"},
	{"WRONGPASS", "user or password is wrong: check the DSN"},
	{"NOPERM", "this user lacks a right: see docs/operating.md for the ACL rule"},
	{"EXECABORT", "the transaction was refused as a whole"},
	{"NOSCRIPT", "the script is not loaded"},
}

// unread translates an error of a command that changes nothing.
func unread(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, store.ErrLost) || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrCorrupt) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		return store.Unavailable(cause)
	}
	return store.Unavailable(explain(err))
}

// sent translates an error of a command that may have changed something.
func sent(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, store.ErrLost) {
		return err
	}
	if refused(err) {
		return store.Unavailable(explain(err))
	}
	if cause := context.Cause(ctx); cause != nil {
		return store.Indeterminate(cause)
	}
	return store.Indeterminate(explain(err))
}

// refused reports whether an error means that the server certainly ran nothing. An error reply is such a
// one: every script writes the record once, and what it writes before, to an index, is harmless without it.
func refused(err error) bool {
	if _, ok := rueidis.IsRedisErr(err); ok {
		return true
	}
	if _, ok := errors.AsType[greetingError](err); ok {
		return true
	}
	var dial *net.OpError
	return errors.Is(err, rueidis.ErrClosing) || errors.As(err, &dial) && dial.Op == "dial"
}

func explain(err error) error {
	reply, ok := rueidis.IsRedisErr(err)
	if !ok {
		return err
	}
	text := reply.Error()
	for _, r := range refusals {
		if strings.HasPrefix(text, r.prefix) || strings.Contains(text, r.prefix+" ") {
			return fmt.Errorf("%s: %w", r.hint, err)
		}
	}
	return err
}
