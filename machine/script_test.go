package machine

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write the replies of the stories in testdata anew")

// TestStories plays the stories in testdata/*.txt: one record, and people who want it. Each line is
//
//	WHO COMMAND [argument=value …] -> reply
//
// and "wait DURATION" moves the clock. A caller knows what its last reply told it; a command that ends
// in "lost" is applied, and its reply is not learned. With -rewrite the replies are written anew.
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			told := play(t, string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(told), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, got := strings.Split(string(text), "\n"), strings.Split(told, "\n")
			for i := range want {
				if want[i] != got[i] && !*rewrite {
					t.Errorf("line %d\n want %s\n  got %s", i+1, want[i], got[i])
				}
			}
		})
	}
}

// story is a record with the people around it.
type story struct {
	record *Record
	now    time.Time
	known  map[string]*Hold // by who
}

// play returns the story with the replies that it really gets.
func play(t *testing.T, text string) string {
	s := story{now: noon, known: map[string]*Hold{}}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line, _, _ = strings.Cut(line, "->")
		line = strings.TrimRight(line, " ")
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#" || strings.HasPrefix(line, "#"):
			continue
		case words[0] == "wait":
			d, err := time.ParseDuration(words[1])
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			s.now = s.now.Add(d)
			continue
		}
		reply, err := s.tell(words)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		lines[i] = fmt.Sprintf("%-46s -> %s", line, reply)
	}
	return strings.Join(lines, "\n")
}

// tell runs one line and describes the reply.
func (s *story) tell(words []string) (string, error) {
	who, verb := words[0], words[1]
	args, flags, err := arguments(words[2:])
	if err != nil {
		return "", err
	}
	if s.known[who] == nil {
		s.known[who] = &Hold{Scope: testScope, Owner: tokenOf(who), Operation: idOf(who), Attempt: 1, Revision: 1, Nonce: Nonce(idOf(who))}
	}
	command, err := s.command(*s.known[who], verb, args, flags)
	if err != nil {
		return "", err
	}
	before := s.record
	next, reply := Step(s.record, command, s.now)
	s.record = next
	if !flags["lost"] && reply.Revision != 0 {
		s.known[who].Attempt, s.known[who].Revision = reply.Attempt, reply.Revision
	}
	return describe(reply, next != before, s.now), nil
}

func arguments(words []string) (args map[string]string, flags map[string]bool, err error) {
	args, flags = map[string]string{}, map[string]bool{}
	for _, word := range words {
		name, value, given := strings.Cut(word, "=")
		if !given {
			flags[name] = true
			continue
		}
		args[name] = value
	}
	return args, flags, nil
}

func (s *story) command(h Hold, verb string, args map[string]string, flags map[string]bool) (Command, error) {
	var bad error
	length := func(name string, otherwise time.Duration) time.Duration {
		if args[name] == "" {
			return otherwise
		}
		d, err := time.ParseDuration(args[name])
		bad = firstError(bad, err)
		return d
	}
	number := func(name string, otherwise uint64) uint64 {
		if args[name] == "" {
			return otherwise
		}
		n, err := strconv.ParseUint(args[name], 10, 64)
		bad = firstError(bad, err)
		return n
	}
	word := func(name, otherwise string) string {
		if args[name] == "" {
			return otherwise
		}
		return args[name]
	}
	if args["nonce"] != "" {
		h.Nonce = Nonce(idOf(args["nonce"]))
	}
	if args["op"] != "" {
		h.Operation = idOf(args["op"])
	}
	h.Revision, h.Attempt = number("revision", h.Revision), uint32(number("attempt", uint64(h.Attempt)))
	claim := Claim{
		Scope: h.Scope, Owner: h.Owner, Operation: h.Operation, Seen: number("seen", 0), Lease: length("lease", lease),
		Fingerprints: requestOf(word("request", "request")), Policy: 1, Codecs: []string{"text/1"},
	}
	if flags["rerun"] {
		claim.Interruption = Rerun
	}
	answer := NewResponse("text/1", []byte(word("answer", "answer")))
	commands := map[string]Command{
		"claim":    claim,
		"begin":    Begin{claim, h.Nonce},
		"start":    Start{h, length("lease", lease)},
		"renew":    Renew{h, length("lease", lease)},
		"complete": Complete{h, answer, length("window", window), length("remember", remember)},
		"fail":     Fail{Hold: h, NoEffect: flags["no-effect"], Reason: word("reason", "error"), Remember: length("remember", remember)},
		"release":  Release{h},
		"settle": Settle{
			Scope: h.Scope, Operation: h.Operation, Revision: h.Revision, Completed: flags["completed"], Response: answer,
			Window: length("window", window), Remember: length("remember", remember), Who: "operator", Why: word("why", "evidence"),
		},
		"inspect": Inspect{h.Scope},
		"forget":  Forget{h.Scope},
	}
	if commands[verb] == nil {
		return nil, fmt.Errorf("no command %q", verb)
	}
	return commands[verb], bad
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// describe says what a reply tells, and whether the record changed.
func describe(r Reply, changed bool, now time.Time) string {
	parts := []string{r.Outcome.String()}
	add := func(given bool, format string, args ...any) {
		if given {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(r.Revision != 0, "%v attempt=%d revision=%d", r.State, r.Attempt, r.Revision)
	add(r.Reason != "", "reason=%q", r.Reason)
	add(r.From != 0, "from=%v", r.From)
	add(r.State == Claimed || r.State == Executing, "lease=%v", r.LeaseEnd.Sub(InstantOf(now)))
	add(!r.Response.IsZero(), "answer=%q", r.Response.Data)
	add(r.Yours, "yours")
	add(!changed, "(unchanged)")
	return strings.Join(parts, " ")
}
