package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/httpguard"
)

// beMain makes the test's binary the program itself.
const beMain = "REPRISE_BE_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beMain) == "1" {
		main()
	}
	os.Exit(m.Run())
}

// programEnv is the environment of a process that is the program itself. What make says to the race detector is for it, too.
func programEnv(more ...string) []string {
	return append([]string{beMain + "=1", "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}, more...)
}

// proxyProcess is a `reprise proxy` in a process of its own.
type proxyProcess struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string        // of the listener
	admin   string        // of the admin port, or "none"
	log     chan logLine  // closed at the end
	ended   chan struct{} // closed when the process is gone

	mu   sync.Mutex
	text strings.Builder // all that it printed
}

type logLine struct {
	Message string `json:"msg"`
	Error   string `json:"error"`
	Address string `json:"address"`
	Admin   string `json:"admin"`
	text    string
}

// startProxy starts a proxy in a directory and waits until it listens.
func startProxy(t *testing.T, dir string, environ []string, args ...string) *proxyProcess {
	t.Helper()
	return startServing(t, dir, environ, append([]string{"proxy", "--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug"}, args...)...)
}

// startServing starts a command line that serves, and waits until it listens.
func startServing(t *testing.T, dir string, environ []string, args ...string) *proxyProcess {
	t.Helper()
	p := &proxyProcess{t: t, log: make(chan logLine, 10000), ended: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], args...)
	p.cmd.Dir, p.cmd.Env = dir, programEnv(environ...)
	out, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.follow(out)
	t.Cleanup(func() { p.kill() })
	line := p.await("listening")
	p.address, p.admin = line.Address, line.Admin
	return p
}

// follow reads what the process prints until it ends.
func (p *proxyProcess) follow(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.text.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		line := logLine{text: lines.Text()}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message != "request" {
			p.log <- line
		}
	}
	_ = p.cmd.Wait()
	close(p.log)
	close(p.ended)
}

func (p *proxyProcess) printed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// await returns the next log line with a message that begins so.
func (p *proxyProcess) await(message string) logLine {
	p.t.Helper()
	for line := range p.log {
		if strings.HasPrefix(line.Message, message) {
			return line
		}
	}
	p.t.Fatalf("the process ended before it said %q; it printed:\n%s", message, p.printed())
	return logLine{}
}

func (p *proxyProcess) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// kill is kill -9, and returns when the process is gone.
func (p *proxyProcess) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.ended
}

// exit waits until the process is gone and returns its exit code.
func (p *proxyProcess) exit() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// got is an answer.
type got struct {
	status     int
	body       string
	replayed   bool
	recorded   bool // unless the answer says that it is not
	retryAfter string
	err        error
}

// problem returns the type of a problem, or "".
func (g got) problem() string {
	_, rest, _ := strings.Cut(g.body, httpguard.ProblemPrefix)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// post sends a request with a key; without one when it is "".
func (p *proxyProcess) post(path, key, body string) got {
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://"+p.address+path, strings.NewReader(body))
	if err != nil {
		return got{err: err}
	}
	r.GetBody = nil // the client must not send twice by itself
	r.Header.Set("Authorization", "Bearer sesame")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return fetch(http.DefaultClient, r)
}

func fetch(client *http.Client, r *http.Request) got {
	response, err := client.Do(r)
	if err != nil {
		return got{err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return got{
		status: response.StatusCode, body: string(text), replayed: response.Header.Get(httpguard.HeaderReplayed) == "true",
		recorded: response.Header.Get(httpguard.HeaderRecorded) != "false", retryAfter: response.Header.Get("Retry-After"), err: err,
	}
}

// eventually asks again until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	eventuallyAsked(t, 50*time.Millisecond, what, so)
}

// proving reports whether tests are to be long.
func proving() bool { return os.Getenv("REPRISE_PROVE") == "1" }

// eventuallyAsked is for what costs something to ask for.
func eventuallyAsked(t *testing.T, every time.Duration, what string, so func() bool) {
	t.Helper()
	patience := time.Minute
	if proving() { // of a million lines
		patience = time.Hour
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(every)
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// adminGet asks the admin port.
func (p *proxyProcess) adminGet(path string) got {
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.admin+path, nil)
	if err != nil {
		return got{err: err}
	}
	return fetch(http.DefaultClient, r)
}

// upstream is a service that counts the requests it gets.
type upstream struct {
	*httptest.Server
	requests atomic.Int32
}

func newUpstream(t *testing.T, handler http.HandlerFunc) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.requests.Add(1)
		if handler != nil {
			handler(w, r)
		}
	}))
	t.Cleanup(u.Close)
	return u
}

// held is an upstream that says when a request has arrived, and answers when it is told to.
func held(t *testing.T) (u *upstream, arrived <-chan struct{}, answer func()) {
	arrivals, release := make(chan struct{}, 100), make(chan struct{})
	var once sync.Once
	answer = func() { once.Do(func() { close(release) }) }
	u = newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		arrivals <- struct{}{}
		<-release
		io.WriteString(w, "made")
	})
	t.Cleanup(answer) // before the server closes, which waits for its requests
	return u, arrivals, answer
}

// refusal runs a command line that must fail, and returns its exit code and what it printed.
func refusal(t *testing.T, environ []string, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	cancelled := writerFunc(func(text []byte) (int, error) {
		if strings.Contains(string(text), "listening") {
			t.Errorf("%v was not refused", args)
			cancel()
		}
		return out.Write(text)
	})
	defer cancel()
	code := run(ctx, args, process{In: strings.NewReader(""), Out: cancelled, Err: cancelled, Environ: environ})
	return code, out.String()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// files returns the files of a directory with what is in them.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		all[e.Name()] = readFile(t, filepath.Join(dir, e.Name()))
	}
	return all
}
