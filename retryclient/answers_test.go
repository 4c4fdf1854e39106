package retryclient_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise/retryclient"
)

// What each sequence of answers comes to.
func TestAnswers(t *testing.T) {
	t.Parallel()
	inProgress, unknown := objects(409, "in-progress", "Retry-After", "2"), objects(409, "outcome-unknown")
	for _, c := range []struct {
		name    string
		answers []answer
		status  int   // handed on; 0 for an error
		err     error // found by errors.Is
		tries   int
	}{
		{name: "success", answers: []answer{says(201)}, status: 201, tries: 1},
		{name: "client error", answers: []answer{says(404)}, status: 404, tries: 1},
		{name: "500 is the service's answer", answers: []answer{says(500)}, status: 500, tries: 1},
		{name: "redirect without a place", answers: []answer{says(304)}, status: 304, tries: 1},
		{name: "retried statuses", answers: []answer{says(408), says(425), says(429), says(502), says(503), says(504), says(201)}, status: 201, tries: 7},
		{name: "lost reply, then replay", answers: []answer{breaks, says(201, "Idempotency-Replayed", "true")}, status: 201, tries: 2},

		{name: "O23: a replayed failure is final", answers: []answer{says(503, "Idempotency-Replayed", "true")}, status: 503, tries: 1},
		{name: "O16: a refusal that is not kept may be tried with another", answers: []answer{says(400)}, status: 400, tries: 1},
		{name: "O37: the retry of a slow success waits for it", answers: []answer{breaks, inProgress, inProgress, says(201)}, status: 201, tries: 4},
		{name: "O37: bounded, then unknown", answers: []answer{breaks, inProgress}, err: retryclient.ErrUnknown, tries: 8},
		{name: "O37: a 409 without a reason may mean that the first still runs", answers: []answer{breaks, says(409)}, err: retryclient.ErrUnknown, tries: 8},
		{name: "O37: so may one of somebody else", answers: []answer{says(504), foreign(409)}, err: retryclient.ErrUnknown, tries: 8},
		{name: "O37: it is asked again", answers: []answer{breaks, says(409), says(409), says(201)}, status: 201, tries: 4},
		{name: "a replayed 409 is the answer", answers: []answer{breaks, says(409), says(409, "Idempotency-Replayed", "true")}, status: 409, tries: 3},
		{name: "a 409 after a try that was not looked at is the answer", answers: []answer{says(429), says(409)}, status: 409, tries: 2},
		{name: "a 409 after a try without effect is the answer", answers: []answer{breaks, objects(502, "upstream-unreachable"), says(409)}, status: 409, tries: 3},
		{name: "in progress by itself", answers: []answer{inProgress}, err: retryclient.ErrUnknown, tries: 8},
		{name: "O39: unknown is said at once", answers: []answer{unknown}, err: retryclient.ErrUnknown, tries: 1},
		{name: "unknown after a lost reply", answers: []answer{breaks, unknown}, err: retryclient.ErrUnknown, tries: 2},
		{name: "unknown until it is asked again", answers: []answer{objects(409, "outcome-unknown", "Retry-After", "1"), says(201)}, status: 201, tries: 2},
		{name: "unknown however often it is asked", answers: []answer{objects(409, "outcome-unknown", "Retry-After", "1")}, err: retryclient.ErrUnknown, tries: 8},
		{name: "problems are known by type, not by status", answers: []answer{objects(425, "outcome-unknown")}, err: retryclient.ErrUnknown, tries: 1},

		{name: "a record that cannot be read", answers: []answer{objects(409, "record-unreadable")}, err: retryclient.ErrUnknown, tries: 1},

		{name: "key reused", answers: []answer{objects(422, "key-reused")}, err: retryclient.ErrKeyReused, tries: 1},
		{name: "expired", answers: []answer{breaks, objects(410, "answer-expired")}, err: retryclient.ErrExpired, tries: 2},
		{name: "not kept", answers: []answer{breaks, objects(410, "answer-not-kept")}, err: retryclient.ErrNotKept, tries: 2},
		{name: "incompatible", answers: []answer{objects(409, "answer-incompatible")}, err: retryclient.ErrIncompatible, tries: 1},
		{name: "another 409 is an answer", answers: []answer{says(409)}, status: 409, tries: 1},
		{name: "another 422 is an answer", answers: []answer{says(422)}, status: 422, tries: 1},
		{name: "a problem of somebody else is an answer", answers: []answer{foreign(409)}, status: 409, tries: 1},
		{name: "a success is no problem", answers: []answer{objects(200, "outcome-unknown")}, status: 200, tries: 1},
		{name: "malformed key", answers: []answer{objects(400, "key-malformed")}, status: 400, tries: 1},
		{name: "perhaps done, then the key was not looked at", answers: []answer{breaks, objects(401, "principal-invalid")}, err: retryclient.ErrUnknown, tries: 2},

		{name: "a service's own type: full", answers: []answer{objects(429, "intake-full", "Retry-After", "1"), says(202)}, status: 202, tries: 2},
		{name: "a service's own type: closed", answers: []answer{objects(503, "gate-closed", "Retry-After", "5"), says(202)}, status: 202, tries: 2},
		{name: "a service's own type: perhaps done", answers: []answer{objects(503, "not-confirmed", "Retry-After", "1")}, err: retryclient.ErrUnknown, tries: 8},
		{name: "a service's own type: an answer", answers: []answer{objects(422, "event-refused")}, status: 422, tries: 1},
		{name: "a service's own type: an answer after a lost one", answers: []answer{breaks, objects(422, "event-refused")}, status: 422, tries: 2},

		{name: "never done: the last answer is handed on", answers: []answer{says(429)}, status: 429, tries: 8},
		{name: "store unavailable throughout", answers: []answer{objects(503, "store-unavailable")}, status: 503, tries: 8},
		{name: "credentials cannot be checked", answers: []answer{objects(503, "principal-unavailable"), says(201)}, status: 201, tries: 2},
		{name: "perhaps done: unknown", answers: []answer{says(503)}, err: retryclient.ErrUnknown, tries: 8},
		{name: "perhaps done, then never asked", answers: []answer{breaks, says(429)}, err: retryclient.ErrUnknown, tries: 8},
		{name: "perhaps done, then a gate closed", answers: []answer{breaks, says(401)}, err: retryclient.ErrUnknown, tries: 2},
		{name: "perhaps done, then the store is gone", answers: []answer{says(504), objects(503, "store-lost")}, err: retryclient.ErrUnknown, tries: 8},
		{name: "proved not done", answers: []answer{breaks, objects(502, "upstream-unreachable")}, status: 502, tries: 8},
		{name: "perhaps done, then run without a record and not sent", answers: []answer{breaks, objects(502, "upstream-unreachable", "Reprise-Recorded", "false")}, err: retryclient.ErrUnknown, tries: 8},
		{name: "run without a record and never sent", answers: []answer{objects(502, "upstream-unreachable", "Reprise-Recorded", "false")}, status: 502, tries: 8},
		{name: "no answer from upstream, then unknown", answers: []answer{objects(504, "upstream-no-answer"), unknown}, err: retryclient.ErrUnknown, tries: 2},
		{name: "broken throughout", answers: []answer{breaks}, err: errBroken, tries: 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &script{answers: c.answers}
				response, _, err := post(t, retryclient.Client(server, retryclient.Options{}), "coffee")
				if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
					t.Fatalf("error %v, want %v", err, c.err)
				}
				if c.status != 0 && response.StatusCode != c.status {
					t.Errorf("status %d, want %d", response.StatusCode, c.status)
				}
				if len(server.keys) != c.tries {
					t.Errorf("%d tries, want %d", len(server.keys), c.tries)
				}
				if server.open != 0 {
					t.Errorf("%d response bodies were left open", server.open)
				}
			})
		})
	}
}

// foreign is a problem document that is not Reprise's, with a telling detail.
func foreign(status int) answer {
	plain := objects(status, "in-progress")
	return func(req *http.Request) (*http.Response, error) {
		response, err := plain(req)
		response.Header.Set("Content-Type", "application/json")
		return response, err
	}
}

// What the errors carry.
func TestErrorDetails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := retryclient.Client(&script{answers: []answer{breaks, objects(409, "outcome-unknown")}}, retryclient.Options{})
		_, _, err := post(t, client, "coffee")
		var unknown *retryclient.UnknownError
		if !errors.As(err, &unknown) || unknown.Tries != 2 || unknown.Status != 409 || unknown.Detail != "detail of outcome-unknown" || len(unknown.Key) != 36 {
			t.Errorf("unknown: %#v of %v", unknown, err)
		}
		client = retryclient.Client(&script{answers: []answer{objects(410, "answer-not-kept")}}, retryclient.Options{})
		_, _, err = post(t, client, "coffee")
		var refused *retryclient.RefusedError
		if !errors.As(err, &refused) || refused.Status != 410 || !strings.Contains(string(refused.Document), "answer-not-kept") ||
			refused.Detail != "detail of answer-not-kept" || len(refused.Key) != 36 {
			t.Errorf("refused: %#v of %v", refused, err)
		}
	})
}

// A problem that is handed on can still be read by the caller, as it was sent.
func TestHandedOnProblemIsWhole(t *testing.T) {
	t.Parallel()
	server := &script{answers: []answer{objects(413, "body-too-large")}}
	_, body, err := post(t, retryclient.Client(server, retryclient.Options{}), "coffee")
	if err != nil || !strings.HasPrefix(body, `{"type":"urn:reprise:problem:body-too-large"`) || !strings.HasSuffix(body, `"status":413}`) {
		t.Errorf("body %s, error %v", body, err)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const date = "Sat, 01 Jan 2000 10:00:00 GMT"
	for _, c := range []struct {
		name   string
		header []string
		want   time.Duration // at least, and by no more than the backoff of 1 ms above it
	}{
		{"seconds", []string{"Retry-After", "7"}, 7 * time.Second},
		{"bounded", []string{"Retry-After", "86400"}, 15 * time.Second},
		{"more than an integer holds", []string{"Retry-After", "99999999999999999999"}, 15 * time.Second},
		{"date, by the server's clock", []string{"Retry-After", "Sat, 01 Jan 2000 10:00:09 GMT", "Date", date}, 9 * time.Second},
		{"date, by our clock", []string{"Retry-After", "Sat, 01 Jan 2000 00:00:05 GMT"}, 5 * time.Second},
		{"date in the past", []string{"Retry-After", "Sat, 01 Jan 2000 09:00:00 GMT", "Date", date}, 0},
		{"negative", []string{"Retry-After", "-4"}, 0},
		{"nonsense", []string{"Retry-After", "soon"}, 0},
		{"none", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // its clock starts at midnight of 1 January 2000, UTC
				server := &script{answers: []answer{says(503, c.header...), says(201)}}
				client := retryclient.Client(server, retryclient.Options{FirstBackoff: time.Millisecond})
				if _, _, err := post(t, client, ""); err != nil {
					t.Fatal(err)
				}
				if got := server.pauses()[0]; got < c.want || got > c.want+time.Millisecond {
					t.Errorf("paused %v, want %v", got, c.want)
				}
			})
		})
	}
}

// Pauses are random, and their bounds double up to the greatest one.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		options := retryclient.Options{FirstBackoff: time.Second, MaxBackoff: 4 * time.Second, MaxTries: 6, MaxElapsed: time.Hour}
		bounds := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second, 4 * time.Second}
		greatest := make([]time.Duration, len(bounds))
		for range 200 {
			server := &script{answers: []answer{says(429)}}
			if _, _, err := post(t, retryclient.Client(server, options), ""); err != nil {
				t.Fatal(err)
			}
			for i, pause := range server.pauses() {
				if pause > bounds[i]+time.Nanosecond {
					t.Fatalf("pause %d is %v, bound %v", i, pause, bounds[i])
				}
				greatest[i] = max(greatest[i], pause)
			}
		}
		for i, g := range greatest { // by chance once in 10^30
			if g < bounds[i]*7/10 {
				t.Errorf("the greatest of 200 pauses %d is %v of %v: not the full range", i, g, bounds[i])
			}
		}
	})
}

// MaxElapsed ends a call before a pause that would go beyond it.
func TestMaxElapsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		server := &script{answers: []answer{objects(409, "in-progress", "Retry-After", "10")}}
		client := retryclient.Client(server, retryclient.Options{MaxElapsed: 25 * time.Second, FirstBackoff: time.Millisecond})
		_, _, err := post(t, client, "")
		if !errors.Is(err, retryclient.ErrUnknown) || len(server.keys) != 3 || time.Since(start) > 25*time.Second {
			t.Errorf("error %v after %d tries and %v", err, len(server.keys), time.Since(start))
		}
	})
}

// The caller's own statuses replace the default ones.
func TestRetryStatuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []answer{says(500), says(503)}}
		client := retryclient.Client(server, retryclient.Options{RetryStatuses: []int{500}})
		response, _, err := post(t, client, "")
		if err != nil || response.StatusCode != http.StatusServiceUnavailable || len(server.keys) != 2 {
			t.Errorf("response %v, error %v, %d tries", response, err, len(server.keys))
		}
	})
}
