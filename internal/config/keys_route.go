package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/httpguard"
)

// routeKeys are those that each route has. `path` and `operation` belong to one route alone; the others
// can be set for all.
func routeKeys() []entry[Route] {
	return slices.Concat(routeRequestKeys(), routeTimeKeys(), routeAnswerKeys())
}

// alone reports whether a key can be set in a route only.
func (k Key) alone() bool { return k.Name == "path" || k.Name == "operation" }

// routeRequestKeys say which requests are guarded, and which of them are the same.
func routeRequestKeys() []entry[Route] {
	return []entry[Route]{
		{Key{Name: "path", Type: "pattern", Route: true,
			Doc: "Which requests the route is for: a pattern of Go's http.ServeMux without method, such as /orders, /orders/{id} or /api/. The most specific route wins. Paths of no route get one with the values set for all."},
			setPath},
		{Key{Name: "operation", Type: "name", Route: true,
			Doc: "The name of what the route does. It is part of the key and is stored in clear: keep it when paths change. Without one, method and path of the request are the name, so that one key sent to two paths is two keys."},
			setText(func(r *Route) *string { return &r.Operation })},
		{Key{Name: "methods", Type: "list", Default: "[POST, PATCH]", Route: true,
			Doc: "The methods that are guarded. Others pass through."},
			setMethods},
		{Key{Name: "key", Type: "optional, required or ignored", Default: "optional", Route: true,
			Doc: "What a request without a key gets: optional passes it through unguarded, required refuses it. ignored passes everything through, keys or not."},
			setWord(func(r *Route) *string { return &r.Key }, "optional", Required, Ignored)},
		{Key{Name: "header", Type: "name", Default: "Idempotency-Key", Route: true, Doc: "The header that carries the key. The upstream receives it too."},
			setText(func(r *Route) *string { return &r.Header })},
		{Key{Name: "spelling", Type: "lenient or strict", Default: "lenient", Route: true,
			Doc: "How keys may be written: strict takes only the quoted string of the draft, lenient takes raw keys too. Both spellings of one key are the same key."},
			setChoice(func(r *Route) *bool { return &r.Strict }, map[string]bool{"lenient": false, "strict": true})},
		{Key{Name: "principal", Type: "authorization, header:NAME, jwt:CLAIM, certificate or none", Route: true, Flag: true, Needed: true,
			Doc: "Who a key belongs to, so that no caller gets another's answer. There is no default. authorization: the value of that header; not for tokens that are renewed between retries. header:NAME: set by a gateway that authenticates. jwt:CLAIM: a verified bearer token's claim. certificate: the client's. none: all callers share their keys."},
			setPrincipal},
		{Key{Name: "exclude", Type: "list", Default: "[]", Route: true,
			Doc: "What may differ between a request and its retry: fields of JSON bodies as JSON pointers (/meta/sentAt) and query parameters (?ts)."},
			setExclude},
		{Key{Name: "excluded-before", Type: "list of lists", Default: "[]", Route: true,
			Doc: "Earlier values of `exclude`, under which live records were made. Without them a retry across the change gets answer-incompatible."},
			setExcludedBefore},
	}
}

// Less than these is a wrong unit: it would make every outcome unknown, or nothing be replayed.
const (
	leastWait = 10 * time.Millisecond // for somebody's answer
	leastKept = time.Second           // of records
)

// routeTimeKeys say for how long.
func routeTimeKeys() []entry[Route] {
	return []entry[Route]{
		{Key{Name: "lease", Type: "duration", Default: "30s", Route: true,
			Doc: "How long a proxy may be silent before it counts as dead and the outcome of what it ran as unknown. Renewed at a third while the upstream works. At least three times command-timeout."},
			setDuration(func(r *Route) *time.Duration { return &r.Lease }, 3*leastWait)},
		{Key{Name: "command-timeout", Type: "duration", Default: "2s", Route: true, Doc: "How long an exchange with the store may take."},
			setDuration(func(r *Route) *time.Duration { return &r.CommandTimeout }, leastWait)},
		{Key{Name: "upstream-timeout", Type: "duration", Default: "60s", Route: true,
			Doc: "How long the upstream may take to begin its answer, and to go on with it. After that the outcome is unknown. For guarded requests only. 0 waits for ever."},
			setDurationOrNone(func(r *Route) *time.Duration { return &r.UpstreamTimeout }, leastWait)},
		{Key{Name: "replay-window", Type: "duration", Default: "24h", Route: true,
			Doc: "How long a retry gets the recorded answer. At least retry-horizon."},
			setDuration(func(r *Route) *time.Duration { return &r.ReplayWindow }, leastKept)},
		{Key{Name: "remember-until", Type: "duration", Default: "7d", Route: true,
			Doc: "How long after it was answered a key is refused rather than run again. At least replay-window."},
			setDuration(func(r *Route) *time.Duration { return &r.Remember }, leastKept)},
		{Key{Name: "retryable-for", Type: "duration", Default: "7d", Route: true,
			Doc: "How long a key that had no effect is remembered. Operations without an outcome are kept for ever."},
			setDuration(func(r *Route) *time.Duration { return &r.RetryableFor }, leastKept)},
		{Key{Name: "retry-horizon", Type: "duration", Default: "0s", Route: true, Doc: "How long clients go on retrying. It only serves to refuse a replay-window that is shorter."},
			setDuration(func(r *Route) *time.Duration { return &r.Horizon }, 0)},
		{Key{Name: "policy-revision", Type: "number", Default: "1", Route: true,
			Doc: "Raise it when recorded answers must not be replayed by proxies that have an older configuration."},
			setRevision},
	}
}

// routeAnswerKeys say what answers mean and what becomes of those that cannot be had.
func routeAnswerKeys() []entry[Route] {
	return []entry[Route]{
		{Key{Name: "interruption", Type: "quarantine or rerun", Default: "quarantine", Route: true,
			Doc: "What it means that a proxy died while the upstream worked. quarantine: nobody knows, and the key waits until it is settled. rerun: the operation is safe to run again, and the next request does."},
			setChoice(func(r *Route) *bool { return &r.Rerun }, map[string]bool{"quarantine": false, "rerun": true})},
		{Key{Name: "duplicates", Type: "refuse, or wait DURATION", Default: "refuse", Route: true,
			Doc: "What a request gets while the first one of its key runs: refuse answers 409 at once, `wait 10s` waits that long for the answer first."},
			setDuplicates},
		{Key{Name: "store-down", Type: "closed or open", Default: "closed", Route: true,
			Doc: "What a request with a key gets while the store cannot be asked: closed answers 503, open passes it through unguarded. A store that has lost its data is closed in any case."},
			setChoice(func(r *Route) *bool { return &r.FailOpen }, map[string]bool{"closed": false, "open": true})},
		{Key{Name: "final", Type: "list of statuses", Default: "[]", Route: true,
			Doc: "Statuses of the upstream that are recorded and replayed. All are but 429, 502, 503 and 504: name one of these here to change that."},
			setStatuses(func(r *Route) *[]int { return &r.Final })},
		{Key{Name: "no-effect", Type: "list of statuses", Default: "[]", Route: true,
			Doc: "Statuses that say that nothing happened: the key can be tried again. 429 is one by itself. The header Reprise-No-Effect: true of an answer says it too."},
			setStatuses(func(r *Route) *[]int { return &r.NoEffect })},
		{Key{Name: "unknown", Type: "list of statuses", Default: "[]", Route: true,
			Doc: "Statuses that leave open what happened: the answer is passed on, and the key waits until it is settled. 502, 503 and 504 do by themselves."},
			setStatuses(func(r *Route) *[]int { return &r.Unknown })},
		{Key{Name: "statuses", Type: "mapping", Default: "{}", Route: true,
			Doc: "Other statuses for the proxy's own problems, by type: {in-progress: 425}."},
			setProblemStatuses},
		{Key{Name: "max-body", Type: "size", Default: "10MiB", Route: true,
			Doc: "The largest request body. A guarded request is read to its end before it is sent, in memory; a larger one gets 413 and nothing is claimed."},
			setSize(func(r *Route) *int64 { return &r.MaxBody })},
		{Key{Name: "max-kept-answer", Type: "size", Default: "2MiB", Route: true,
			Doc: "The largest answer that is kept for replay, headers included. A larger one passes through; its retries get 410."},
			setSize(func(r *Route) *int64 { return &r.MaxKept })},
	}
}

func setPath(r *Route, v value) error {
	s, err := v.single()
	if err != nil {
		return err
	}
	if method, rest, ok := strings.Cut(s, " "); ok && method == strings.ToUpper(method) {
		return fmt.Errorf("%q has a method in it; write path: %s and methods: [%s]", s, strings.TrimSpace(rest), method)
	}
	host, _, ok := strings.Cut(s, "/")
	if !ok {
		return fmt.Errorf("%q is not a path; write /%s", s, s)
	}
	if name, port, err := net.SplitHostPort(host); err == nil {
		return fmt.Errorf("%q has the port %s in it, and hosts are told apart by their names; write %s", s, port, name+strings.TrimPrefix(s, host))
	}
	r.Path = s
	return nil
}

func setMethods(r *Route, v value) error {
	list, err := v.list()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("is empty; to leave a route unguarded write key: ignored")
	}
	for i, method := range list {
		switch upper := strings.ToUpper(method); {
		case upper != method:
			return fmt.Errorf("%q is not in upper case; write %s", method, upper)
		case slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"}, method):
			return fmt.Errorf("%s has no effect to guard; leave it out", method)
		case strings.ContainsFunc(method, func(c rune) bool { return c < 'A' || c > 'Z' }):
			return fmt.Errorf("%q is not a method", method)
		case slices.Contains(list[:i], method):
			return fmt.Errorf("%s is there twice", method)
		}
	}
	r.Methods = list
	return nil
}

func setPrincipal(r *Route, v value) error {
	s, err := v.single()
	if err != nil {
		return err
	}
	mode, name, named := strings.Cut(s, ":")
	switch {
	case (mode == "header" || mode == "jwt") && name == "":
		return fmt.Errorf("%q does not say which; write %s", s, map[string]string{"header": "header:X-User", "jwt": "jwt:sub"}[mode])
	case mode == "header" || mode == "jwt":
	case !named && (mode == "authorization" || mode == "certificate" || mode == "none"):
	default:
		return fmt.Errorf("%q is not known%s", s, meant(s, []string{"authorization", "header:NAME", "jwt:CLAIM", "certificate", "none"}))
	}
	r.Principal = s
	return nil
}

func setExclude(r *Route, v value) (err error) {
	if r.Exclude, err = v.list(); err != nil {
		return err
	}
	return httpguard.CheckExclude(r.Exclude)
}

func setExcludedBefore(r *Route, v value) error {
	if v.form == formText && v.text == "" {
		return nil
	}
	if v.form != formList {
		return errors.New("is not a list of lists; write [[/meta/sentAt]], or [] for none")
	}
	r.ExcludedBefore = nil
	for _, item := range v.items {
		list, err := item.list()
		if err == nil {
			err = httpguard.CheckExclude(list)
		}
		if err != nil {
			return err
		}
		r.ExcludedBefore = append(r.ExcludedBefore, list)
	}
	return nil
}

func setRevision(r *Route, v value) error {
	s, err := v.single()
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is not a number from 1", s)
	}
	r.PolicyRevision = uint32(n)
	return nil
}

func setDuplicates(r *Route, v value) error {
	s, err := v.single()
	if err != nil {
		return err
	}
	how, length, _ := strings.Cut(s, " ")
	switch {
	case s == "refuse":
		r.Wait = 0
		return nil
	case how == "wait" && length != "":
		r.Wait, err = ParseDuration(strings.TrimSpace(length))
		switch {
		case err == nil && r.Wait == 0:
			err = errors.New("waits for no time; write refuse, or wait 10s")
		case err == nil && r.Wait < leastWait:
			err = fmt.Errorf("%s is below the least, %v; write refuse, or wait 10s", length, leastWait)
		}
		return err
	}
	return fmt.Errorf("%q is not known; write refuse, or wait 10s", s)
}

func setProblemStatuses(r *Route, v value) error {
	named, err := v.named()
	if err != nil {
		return err
	}
	for name, status := range named {
		if types := httpguard.ProblemTypes(); !slices.Contains(types, name) {
			return fmt.Errorf("%q is not a problem type%s", name, meant(name, types))
		}
		if status < 400 || status > 599 {
			return fmt.Errorf("%s: %d is not a status between 400 and 599", name, status)
		}
	}
	r.Statuses = named
	return nil
}
