package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/restore"
)

// plan restores nothing, into nothing.
type plan struct {
	generation chan string
	applying   func()
	abandoning func()       // nil: nothing
	ready      func() error // nil: it is
}

func (p plan) Describe() restore.Description {
	return restore.Description{Name: "toy", Digest: "1", Configuration: "none", Phases: []string{"all"}, Retention: time.Hour}
}

func (p plan) Generation(context.Context) (string, error) {
	g := <-p.generation
	p.generation <- g
	return g, nil
}

func (p plan) Renew(_ context.Context, f restore.Fence) error {
	<-p.generation
	p.generation <- f.Generation
	return nil
}

func (p plan) CloseGate(context.Context, restore.Fence) error  { return nil }
func (p plan) Drain(context.Context, restore.Fence) error      { return nil }
func (p plan) WriteFence(context.Context, restore.Fence) error { return nil }
func (p plan) CleanUp(context.Context, restore.Fence) error    { return nil }
func (p plan) OpenGate(context.Context, restore.Fence) error   { return nil }

func (p plan) Ready(context.Context) error {
	if p.ready != nil {
		return p.ready()
	}
	return nil
}

func (p plan) Abandon(context.Context, restore.Fence) error {
	if p.abandoning != nil {
		p.abandoning()
	}
	return nil
}

func (p plan) Expect(context.Context, int) (int64, error) { return 3, nil }

func (p plan) Targets(context.Context, int, string, int) ([]restore.Target, bool, error) {
	return []restore.Target{{From: "a", Units: 3}}, true, nil
}

func (p plan) Split(context.Context, int, restore.Target) ([]restore.Target, error) { return nil, nil }

func (p plan) Apply(context.Context, int, restore.Target, restore.Fence) (restore.Done, error) {
	p.applying()
	return restore.Done{Units: 3}, nil
}

func (p plan) Verify(context.Context, restore.Target, restore.Fence) (restore.Done, []restore.Finding, error) {
	return restore.Done{Units: 3}, nil, nil
}

func (p plan) Correct(context.Context, restore.Finding, restore.Fence, restore.Keep) (restore.Correction, error) {
	return restore.Correction{}, nil
}

func (p plan) Undo(context.Context, restore.Finding, []byte, restore.Fence) (restore.Correction, error) {
	return restore.Correction{}, nil
}

// client asks a server of restores.
type client struct {
	*testing.T
	url, origin string
	sessions    *restore.Sessions
	runner      *restore.Runner
	end, wait   func()       // of the process's life, and for what it works on
	exec        func(string) // a statement in its database
}

// serve serves the restores of a plan that calls applying whenever it applies something.
func serve(t *testing.T, applying func()) *client {
	t.Helper()
	return servePlan(t, plan{applying: applying})
}

func servePlan(t *testing.T, p plan) *client {
	t.Helper()
	database := servicetest.Postgres(t)
	dsn := database.Database(t)
	if _, err := restore.Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	sessions, err := restore.Open(t.Context(), dsn, 4)
	if err != nil {
		t.Fatal(err)
	}
	life, end := context.WithCancel(t.Context())
	p.generation = make(chan string, 1)
	p.generation <- ""
	runner := restore.New(sessions, p, restore.Options{Poll: 10 * time.Millisecond})
	restores := api.NewRestores(life, sessions, runner, "toy", slog.New(slog.NewTextHandler(t.Output(), nil)))
	server := httptest.NewServer(restores.Handler())
	t.Cleanup(func() {
		end()
		server.Close()
		_ = sessions.Close() // what works on a session may still use it, and then fails
	})
	exec := func(statement string) {
		in, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		database.Exec(strings.TrimPrefix(in.Path, "/"), statement)
	}
	return &client{T: t, url: server.URL, sessions: sessions, runner: runner, end: end, wait: restores.Wait, exec: exec}
}

// ask wants an answer with a status, that contains a text, and returns it.
func (c *client) ask(method, path, body string, status int, contains string) string {
	c.Helper()
	request, err := http.NewRequestWithContext(c.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	if c.origin != "" {
		request.Header.Set("Origin", c.origin)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status || !strings.Contains(string(text), contains) {
		c.Errorf("%s %s %s: %d %s, %v; want %d with %q", method, path, body, response.StatusCode, text, err, status, contains)
	}
	return string(text)
}

// begin begins a restore, and returns its path.
func (c *client) begin() string {
	c.Helper()
	var begun struct{ ID int64 }
	if err := json.Unmarshal([]byte(c.ask("POST", "/v1/restores", `{"plan":"toy","who":"ann","why":"a test"}`, 202, `"state"`)), &begun); err != nil {
		c.Fatal(err)
	}
	return fmt.Sprintf("/v1/restores/%d", begun.ID)
}

// ends waits until a restore is done.
func (c *client) ends(path string) {
	c.Helper()
	c.becomes(path, "done")
}

// becomes waits until a restore has a state.
func (c *client) becomes(path, state string) {
	c.Helper()
	deadline, cancel := context.WithTimeout(c.Context(), 30*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !strings.Contains(c.ask("GET", path, "", 200, `"session"`), fmt.Sprintf(`"state":%q`, state)) {
		select {
		case <-again.C:
		case <-deadline.Done():
			c.Fatalf("the restore does not become %s", state)
		}
	}
}

// A restore is begun, runs by itself, and is asked about; what makes no sense is refused with what to do.
func TestRestores(t *testing.T) {
	t.Parallel()
	c := serve(t, func() {})
	ask := c.ask
	c.origin = "https://elsewhere.example"
	ask("POST", "/v1/restores", `{"who":"ann","why":"a page"}`, 403, "cross-origin")
	c.origin = ""
	ask("POST", "/v1/restores", `{"plan":"another"}`, 400, "request-malformed")
	ask("POST", "/v1/restores", `{"nonsense":1}`, 400, "request-malformed")
	ask("POST", "/v1/restores", `{}`, 400, "who")
	ask("POST", "/v1/restores", `{"who":"ann","why":"a test"} {"again":true}`, 400, "something else in the body")
	ask("POST", "/v1/restores", `{"who":"ann","why":"a\u0000b"}`, 400, "request-malformed")
	ask("POST", "/v1/restores", fmt.Sprintf(`{"who":"ann","why":"a test","failure_time":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339)), 422, "restore-refused")
	ask("GET", "/v1/restores/1", "", 404, "not-found")
	ask("GET", "/v1/restores/x", "", 404, "not-found")
	path := c.begin()
	ask("POST", path+":stop?who=ann&why=test", "", 404, "not-found")
	ask("POST", path+":pause", "", 400, "who")
	ask("POST", path+":pause?who=ann&why=a%00b", "", 400, "request-malformed")
	c.ends(path)
	ask("POST", "/v1/restores", `{"who":"ann","why":"a test"}`, 409, "restore-complete")
	ask("POST", path+":pause?who=ann&why=test", "", 409, "restore-over")
	for query, says := range map[string]string{"": "rate=NUMBER", "&rate=fast": "rate=NUMBER", "&rate=1&batch=x": "batch=NUMBER", "&rate=-1": "0 or more"} {
		ask("POST", path+":pace?who=ann&why=test"+query, "", 400, says)
	}
	ask("POST", path+":pace?who=ann&why=test&rate=100", "", 409, "restore-over")
	ask("GET", path+"/findings", "", 200, "")
	c.exec("DROP TABLE reprise.restore_findings")
	ask("GET", path+"/findings", "", 503, "reprise migrate up")
	ask("DELETE", path, "", 405, "method-not-allowed")
	ask("PUT", "/v1/restores", "", 405, "method-not-allowed")
	ask("GET", "/v1/other", "", 404, "not-found")
}

// A restore that is begun while the work on a cancelled one has not returned yet is worked on, without a second request.
func TestBegunWhileTheLastOneEnds(t *testing.T) {
	t.Parallel()
	applying, goOn := make(chan struct{}, 8), make(chan struct{})
	c := serve(t, func() {
		applying <- struct{}{}
		<-goOn
	})
	first := c.begin()
	<-applying
	c.ask("POST", first+":cancel?who=ann&why=test", "", 204, "")
	second := c.begin()
	close(goOn)
	c.ends(second)
	c.ask("GET", first, "", 200, `"state":"cancelled"`)
}

// A process that is stopped gives a restore back, so that the next need not wait for its lease to end.
func TestStoppedGivesBack(t *testing.T) {
	t.Parallel()
	applying, goOn := make(chan struct{}, 8), make(chan struct{})
	c := serve(t, func() {
		applying <- struct{}{}
		<-goOn
	})
	c.begin()
	<-applying
	if v, err := c.sessions.Last(t.Context(), "toy"); err != nil || !v.Led {
		t.Fatalf("while it is worked on: %+v, %v", v, err)
	}
	c.end()
	close(goOn)
	c.wait()
	if v, err := c.sessions.Last(t.Context(), "toy"); err != nil || v.Led || v.State.Over() {
		t.Errorf("after the process has stopped: %+v, %v", v, err)
	}
}

// What was asked for by somebody who has gone away is done all the same: half of it would keep traffic out for good.
func TestAClientThatGoesAway(t *testing.T) {
	t.Parallel()
	abandoning, goOn := make(chan struct{}, 8), make(chan struct{})
	c := servePlan(t, plan{applying: func() {}, abandoning: func() {
		abandoning <- struct{}{}
		<-goOn
	}})
	session, _, err := c.runner.Start(t.Context(), restore.Request{Who: "ann", Why: "a test"}) // and nobody works on it
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/v1/restores/%d", session.ID)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(ctx, "POST", c.url+path+":cancel?who=ann&why=test", nil)
		if err == nil {
			_, err = http.DefaultClient.Do(request)
		}
		left <- err
	}()
	<-abandoning
	leave()
	if err := <-left; err == nil {
		t.Error("the client was answered")
	}
	close(goOn)
	c.becomes(path, "cancelled")
}

// A session is not resumed by a process that may not go on with it: it stays paused, and who asks is told why.
func TestResumedWhereNobodyMayGoOn(t *testing.T) {
	t.Parallel()
	var other atomic.Bool
	c := servePlan(t, plan{applying: func() {}, ready: func() error {
		if other.Load() {
			return fmt.Errorf("%w: its generation is unknown", restore.ErrOtherSystem)
		}
		return nil
	}})
	session, _, err := c.runner.Start(t.Context(), restore.Request{Who: "ann", Why: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/v1/restores/%d", session.ID)
	c.ask("POST", path+":pause?who=ann&why=test", "", 204, "")
	other.Store(true)
	c.ask("POST", path+":resume?who=ann&why=test", "", 409, "another system")
	if v, err := c.sessions.Session(t.Context(), session.ID); err != nil || !v.Paused {
		t.Errorf("nobody may go on, and it goes on: %+v, %v", v, err)
	}
	other.Store(false)
	c.ask("POST", path+":resume?who=ann&why=test", "", 204, "")
	c.ends(path)
}
