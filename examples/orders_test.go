// Package examples_test runs the programs of this folder against real servers, as processes.
package examples_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// place is where an example keeps its orders.
type place struct {
	variable string // what names it to the example, as in NAME=VALUE
	count    func() (orders int, err error)
}

var places = map[string]func(t *testing.T) place{
	"orders-sqlite": func(t *testing.T) place {
		path := filepath.Join(t.TempDir(), "orders.db")
		return place{"ORDERS_DB=" + path, func() (int, error) { return rows(t, "sqlite", path) }}
	},
	"orders-postgres": func(t *testing.T) place {
		dsn := servicetest.Postgres(t).Database(t)
		return place{"ORDERS_STORE=" + dsn, func() (int, error) { return rows(t, "pgx", dsn) }}
	},
	"orders-mysql": func(t *testing.T) place {
		dsn := servicetest.MariaDB(t).Database(t)
		return place{"ORDERS_STORE=" + dsn, func() (int, error) { return rows(t, "mysql", driverDSN(t, dsn)) }}
	},
	"orders-redis": func(t *testing.T) place {
		server := servicetest.Redis(t)
		dsn := server.Database(t)
		if err := redisstore.InitNew(t.Context(), dsn, redisstore.Options{}); err != nil {
			t.Fatal(err)
		}
		return place{"ORDERS_STORE=" + dsn, func() (int, error) {
			conn, err := server.Dial(dsn)
			if err != nil {
				return 0, err
			}
			defer conn.Close()
			length, err := conn.Do("LLEN", "orders:"+redisstore.Bucket("alice")+":alice")
			return int(length.(int64)), err
		}}
	},
}

func rows(t *testing.T, driver, dsn string) (n int, err error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	return n, db.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&n)
}

func driverDSN(t *testing.T, dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = u.User.Username(), "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	config.Passwd, _ = u.User.Password()
	return config.FormatDSN()
}

const (
	twoTeas  = `{"item":"tea","quantity":2}`
	spelled  = `{ "quantity": 2, "item": "t\u0065a" }` // the same
	fiveTeas = `{"item":"tea","quantity":5}`
)

// TestOrders: each example places an order once, whoever asks how often, before and after a restart; and it ends in order.
func TestOrders(t *testing.T) {
	t.Parallel()
	programs, secret := t.TempDir(), filepath.Join(t.TempDir(), "orders.secret")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", fmt.Sprintf("-race=%v", raceDetector()), "-o", programs, "./...")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err := reprise.GenerateSecretFile()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, prepare := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := prepare(t)
			environment := append(os.Environ(), at.variable, "ORDERS_SECRET_FILE="+secret, "ORDERS_LISTEN=127.0.0.1:0")
			first := start(t, filepath.Join(programs, name), environment)
			placed := first.takesOrders()
			first.endsDuringAnOrder()
			again := start(t, filepath.Join(programs, name), environment)
			again.expect(answer{201, true, placed}, "key 1", twoTeas)
			again.signal()
			again.ends()
			if n, err := at.count(); n != 2 || err != nil {
				t.Errorf("%d orders were placed (%v), expected 2", n, err)
			}
		})
	}
}

// raceDetector reports whether this test has it. Then the examples are built with it, too, from what is compiled already.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// takesOrders returns the answer to the first.
func (s *service) takesOrders() string {
	s.Helper()
	both := make(chan answer, 2)
	for _, body := range []string{twoTeas, spelled} {
		go func() {
			got := s.post(s.Context(), "key 1", strings.NewReader(body))
			for got.status == 409 { // on a busy machine, still in progress: a client asks again
				got = s.post(s.Context(), "key 1", strings.NewReader(body))
			}
			both <- got
		}()
	}
	one, other := <-both, <-both
	if one.status != 201 || other.status != 201 || one.text != other.text || one.replayed == other.replayed {
		s.Fatalf("twice at once: %+v and %+v, expected one order and its replay", one, other)
	}
	s.expect(answer{201, true, one.text}, "key 1", twoTeas)
	s.expect(answer{422, false, "urn:reprise:problem:key-reused"}, "key 1", fiveTeas)
	s.expect(answer{400, false, "urn:reprise:problem:key-missing"}, "", twoTeas)
	s.expect(answer{400, false, "urn:reprise:problem:body-incomplete"}, "key 2", `{"item":"tea"}`)
	return one.text
}

// endsDuringAnOrder stops the service while it reads an order, which is placed all the same.
func (s *service) endsDuringAnOrder() {
	s.Helper()
	reading := make(chan struct{})
	ctx := httptrace.WithClientTrace(s.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(reading) }})
	body, rest := io.Pipe()
	late := make(chan answer, 1)
	go func() { late <- s.post(ctx, "key 3", body) }()
	select {
	case <-reading:
	case got := <-late:
		s.Fatalf("an order that is not sent yet is answered: %+v", got)
	}
	s.signal()
	s.await("stopping")
	if _, err := rest.Write([]byte(fiveTeas)); err != nil {
		s.Fatal(err)
	}
	rest.Close()
	if got := <-late; got.status != 201 || got.replayed {
		s.Errorf("an order that was under way when the service was stopped: %+v", got)
	}
	s.ends()
}

// service is a running example.
type service struct {
	*testing.T
	cmd  *exec.Cmd
	said *bufio.Scanner
	url  string
}

func start(t *testing.T, program string, environment []string) *service {
	t.Helper()
	s := &service{T: t, cmd: exec.CommandContext(t.Context(), program)}
	s.cmd.Env = environment
	stderr, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Wait() })
	s.said = bufio.NewScanner(stderr)
	_, address, _ := strings.Cut(s.await("listening"), "address=")
	s.url = "http://" + address + "/orders"
	return s
}

// await returns the next line of the log that contains a word.
func (s *service) await(word string) string {
	s.Helper()
	var before strings.Builder
	for s.said.Scan() {
		if strings.Contains(s.said.Text(), word) {
			return s.said.Text()
		}
		fmt.Fprintln(&before, s.said.Text())
	}
	s.Fatalf("the service ended without saying %q:\n%s", word, before.String())
	return ""
}

func (s *service) signal() {
	s.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
}

// ends expects that the service ends in order.
func (s *service) ends() {
	s.Helper()
	var rest strings.Builder
	for s.said.Scan() {
		fmt.Fprintln(&rest, s.said.Text())
	}
	if err := s.cmd.Wait(); err != nil {
		s.Errorf("the service ended with %v:\n%s", err, rest.String())
	}
}

// answer is what came back: the text is the body, or the type of a problem.
type answer struct {
	status   int
	replayed bool
	text     string
}

func (s *service) expect(want answer, key, body string) {
	s.Helper()
	if got := s.post(s.Context(), key, strings.NewReader(body)); got != want {
		s.Errorf("%s under %q: %+v, expected %+v", body, key, got, want)
	}
}

// post sends an order on a connection of its own. What it could not send has no status.
func (s *service) post(ctx context.Context, key string, body io.Reader) answer {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, body)
	if err != nil {
		return answer{text: err.Error()}
	}
	request.Header.Set("X-Customer", "alice")
	request.Header.Set("Expect", "100-continue") // the body is sent when it is read
	if key != "" {
		request.Header.Set("Idempotency-Key", `"`+key+`"`)
	}
	transport := &http.Transport{DisableKeepAlives: true, ExpectContinueTimeout: time.Minute}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answer{text: err.Error()}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{text: err.Error()}
	}
	got := answer{response.StatusCode, response.Header.Get("Idempotency-Replayed") == "true", string(text)}
	if response.Header.Get("Content-Type") == "application/problem+json" {
		var problem struct{ Type string }
		if err := json.Unmarshal(text, &problem); err == nil {
			got.text = problem.Type
		}
	}
	return got
}
