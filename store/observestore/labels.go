package observestore

import (
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

const (
	commandKey  = attribute.Key("reprise.command")
	outcomeKey  = attribute.Key("reprise.outcome")
	errorKey    = attribute.Key("error.type")
	scopeKey    = attribute.Key("reprise.scope")
	nameKey     = attribute.Key("reprise.operation")
	attemptKey  = attribute.Key("reprise.attempt")
	revisionKey = attribute.Key("reprise.revision")
)

// labels are the attributes of every kind of command, made once: a command allocates none.
type labels [machine.KindForget + 1]kindLabels

type kindLabels struct {
	span        string
	spanOptions []trace.SpanStartOption
	active      []metric.AddOption
	answered    [256][]metric.RecordOption // by outcome
	failed      [classes][]metric.RecordOption
}

func newLabels() labels {
	var l labels
	for i := range l {
		kind := commandKey.String(machine.Kind(i).String())
		l[i].span = "reprise.store " + machine.Kind(i).String()
		l[i].spanOptions = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(kind)}
		l[i].active = []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(kind))}
		named := map[string][]metric.RecordOption{} // numbers without an outcome share one set
		for o := range l[i].answered {
			name := machine.Outcome(o).String()
			if named[name] == nil {
				named[name] = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(kind, outcomeKey.String(name)))}
			}
			l[i].answered[o] = named[name]
		}
		for c := range l[i].failed {
			l[i].failed[c] = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(kind, class(c).attribute()))}
		}
	}
	return l
}

func (l *labels) of(kind machine.Kind) *kindLabels {
	if int(kind) >= len(l) {
		kind = 0
	}
	return &l[kind]
}

// class is what an error says, as a label.
type class int

const (
	indeterminate class = iota
	unavailable
	lost
	corrupt
	unsupported
	schema
	classes
)

var classNames = [classes]string{"indeterminate", "unavailable", "lost", "corrupt", "unsupported", "schema"}

func (c class) String() string                { return classNames[c] }
func (c class) attribute() attribute.KeyValue { return errorKey.String(c.String()) }

// classOf asks for lost first, because what is lost is unavailable too. What says nothing of itself is
// indeterminate.
func classOf(err error) class {
	switch {
	case errors.Is(err, store.ErrLost):
		return lost
	case errors.Is(err, store.ErrUnavailable):
		return unavailable
	case errors.Is(err, store.ErrCorrupt):
		return corrupt
	case errors.Is(err, store.ErrIndeterminate):
		return indeterminate
	case errors.Is(err, store.ErrUnsupported):
		return unsupported
	case errors.Is(err, store.ErrSchema):
		return schema
	}
	return indeterminate
}

func scopeAttributes(scope machine.Scope) []attribute.KeyValue {
	return []attribute.KeyValue{nameKey.String(scope.Operation), scopeKey.String(scope.Digest.String())}
}

func replyAttributes(reply machine.Reply) []attribute.KeyValue {
	return []attribute.KeyValue{
		outcomeKey.String(reply.Outcome.String()),
		attemptKey.Int64(int64(reply.Attempt)),
		revisionKey.Int64(int64(reply.Revision)),
	}
}
