package redisstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/store"
)

var errClosed = errors.New("the store is closed")

// lostBucket says that a bucket's generation is missing or another one.
func lostBucket(bucket int) error {
	return fmt.Errorf("%w: bucket %04d of Redis has another generation than this process knows, or none: it was emptied, replaced or restored. "+
		"Nothing runs until an operator has looked (docs/operating.md) and accepts it: reprise store init --accept-loss --who NAME --why REASON --store …", store.ErrLost, bucket)
}

// serverRefusal is an error reply by which a server says that it did not run a command.
type serverRefusal struct {
	prefix string
	hint   string // what to do
	user   bool   // it refuses the user
	stays  bool   // it is of what was asked for, and neither of the user nor of the server's state
}

var refusals = []serverRefusal{
	{"LOADING", "Redis is still loading its data: wait", false, false},
	{"READONLY", "this Redis is a replica: check where the primary is", false, false},
	{"MASTERDOWN", "this replica has lost its primary: check where the primary is", false, false},
	{"CLUSTERDOWN", "the cluster does not serve this slot: look at `CLUSTER INFO`", false, false},
	{"TRYAGAIN", "the slot is being migrated: try again", false, false},
	{"OOM", "Redis has reached its maxmemory: give it more", false, false},
	{"MISCONF", "Redis cannot write its snapshots and refuses writes: look at its log and its disk", false, false},
	{"NOREPLICAS", "too few replicas are connected: see min-replicas-to-write", false, false},
	{"BUSY", "a script of somebody else runs for long: look at `SLOWLOG GET`", false, false},
	{"NOAUTH", "Redis asks for a password: give it in the DSN", true, false},
	{"WRONGPASS", "user or password is wrong: check the DSN", true, false},
	{"NOPERM", "this user lacks a right: see docs/operating.md for the ACL rule", true, false},
	{"The user executing the script", "this user lacks a right: see docs/operating.md for the ACL rule", true, false},
	{"ERR max number of clients", "Redis has as many connections as its maxclients lets in: close some, or raise it", false, false},
	{"MOVED", "the slot has moved: wait until the cluster is as it is to be", false, false},
	{"ASK", "the slot is being migrated: wait until the cluster is as it is to be", false, false},
	{"EXECABORT", "the transaction was refused as a whole", false, false},
	{"NOSCRIPT", "the script is not loaded", false, false},
	{"ERR invalid password", "the password is wrong: check the DSN", true, false},
	{"ERR AUTH", "this Redis has no password for such a user: check user and password in the DSN", true, false},
	{"ERR DB index", "this Redis has no such database: check the number at the end of the DSN", false, true},
}

// connectionHint says what is wrong with a connection, and what to do.
func connectionHint(err error) string {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("the name %s in the DSN is not known here: check it, and the DNS", dns.Name)
	case errors.As(err, &record), errors.Is(err, errNoTLS):
		return "the server does not speak TLS: write redis in place of rediss in the DSN, or use its port for TLS"
	case errors.As(err, &authority):
		return "the server's certificate is of an authority that is not known here: name its file with ca=FILE in the DSN"
	case errors.As(err, &name):
		return "the server's certificate is for another name: use one of its names in the DSN"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens there: check that Redis runs, and host and port in the DSN"
	case errors.Is(err, errSilent):
		return "the server said nothing: if it expects TLS, write rediss in place of redis in the DSN; else check host and port, and what is between"
	}
	return ""
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

// explain says what to do about an error, where that is known.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if text, ok := replyOf(err); ok {
		if r, known := refusalOf(text); known {
			return fmt.Errorf("%s: %w", r.hint, err)
		}
	} else if hint := connectionHint(err); hint != "" {
		return fmt.Errorf("%s: %w", hint, err)
	}
	return err
}

// NotPermitted reports whether an error says that Redis does not let the user in, or do what was asked: waiting does not change that.
func NotPermitted(err error) bool {
	text, _ := replyOf(err)
	r, _ := refusalOf(text)
	return r.user
}

// Answer translates an error that is a server's answer, with what to do about it where that is known; ok is false if it is none. Where it is
// of the state that the server is in, errors.Is finds [store.ErrUnavailable]: what was asked for may be done later. Any other answer stays what it is.
func Answer(err error) (answer error, ok bool) {
	text, ok := replyOf(err)
	if !ok {
		return err, false
	}
	if r, known := refusalOf(text); known && !r.user && !r.stays {
		return store.Unavailable(explain(err)), true
	}
	return explain(err), true
}

// replyOf is the error reply that an error is made of; ok is false if it is of none.
func replyOf(err error) (text string, ok bool) {
	if reply, ok := errors.AsType[*rueidis.RedisError](err); ok && !reply.IsNil() {
		return reply.Error(), true
	}
	reply, ok := errors.AsType[replyError](err)
	return string(reply), ok
}

// refusalOf finds what a reply refuses, also within that of a transaction, which says what its first refusal was.
func refusalOf(text string) (r serverRefusal, known bool) {
	for _, r := range refusals {
		if strings.HasPrefix(text, r.prefix) || strings.Contains(text, r.prefix+" ") {
			return r, true
		}
	}
	return serverRefusal{}, false
}
