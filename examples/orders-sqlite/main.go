// Command orders-sqlite takes orders over HTTP and places each once, however often it is sent: order and record are in
// one SQLite file, and commit together.
//
//	printf '1 %s\n' "$(openssl rand -base64 32)" > orders.secret  # once; keep it as long as the file
//	ORDERS_SECRET_FILE=orders.secret ORDERS_DB=orders.db orders-sqlite
//	curl -i localhost:8080/orders -H 'X-Customer: alice' -H 'Idempotency-Key: 8e03978e' -d '{"item":"tea","quantity":2}'
package main

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/sqlitestore"
)

//go:embed orders.sql
var table string

//go:embed place.sql
var insert string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	text, err := os.ReadFile(cmp.Or(os.Getenv("ORDERS_SECRET_FILE"), "orders.secret"))
	check(err)
	secrets, err := reprise.ParseSecrets(text)
	check(err)
	path := cmp.Or(os.Getenv("ORDERS_DB"), "orders.db")
	records, err := sqlitestore.Open(ctx, path, sqlitestore.Options{}) // makes the file, unless MustExist is set
	check(err)
	guard, err := reprise.New(records, reprise.Policy{Secrets: secrets})
	check(err)
	check(guard.Check(ctx)) // another secret than the store's shows now
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
	check(err)
	_, err = db.ExecContext(ctx, table)
	check(err)

	listener, err := net.Listen("tcp", cmp.Or(os.Getenv("ORDERS_LISTEN"), "127.0.0.1:8080"))
	check(err)
	mux := http.NewServeMux()
	mux.Handle("POST /orders", &shop{guard, records, db})
	server := &http.Server{Handler: mux, ReadTimeout: 15 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			check(err)
		}
	}()
	slog.Info("listening", "address", listener.Addr().String())
	<-ctx.Done()
	stop() // a second signal ends the process at once
	slog.Info("stopping")
	end, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	check(errors.Join(server.Shutdown(end), guard.Close(end), db.Close(), records.Close()))
}

func check(err error) {
	if err != nil {
		slog.Error("orders", "error", err)
		os.Exit(1)
	}
}

type order struct {
	ID       int64  `json:"id,omitempty"`
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
}

type shop struct {
	guard   *reprise.Guard
	records *sqlitestore.Store
	db      *sql.DB
}

// ServeHTTP answers with the order that was placed, by this request or by an earlier one with its key.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	effect, problem := s.place(w, r)
	if problem != nil {
		httpguard.WriteProblem(w, *problem)
		return
	}
	if effect.Replayed {
		w.Header().Set(httpguard.HeaderReplayed, "true")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(effect.Response.Data)
}

// place writes order and answer in one transaction. The customer is whoever X-Customer names: a gateway in front has to
// authenticate him, to set that header, and to remove what clients send under its name.
func (s *shop) place(w http.ResponseWriter, r *http.Request) (effect store.Effect, problem *httpguard.Problem) {
	var o order
	unread := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&o)
	o.ID = 0
	payload, err := json.Marshal(o) // the same, however it was spelled
	keys, customer := r.Header.Values(httpguard.DefaultHeader), r.Header.Get("X-Customer")
	key, malformed := httpguard.ParseKey(keys)
	switch {
	case len(keys) == 0:
		return effect, &httpguard.Problem{Type: httpguard.ProblemKeyMissing, Detail: "Send a key of your own, the same with every try."}
	case malformed != nil:
		return effect, &httpguard.Problem{Type: httpguard.ProblemKeyMalformed, Detail: malformed.Error()}
	case customer == "" || len(customer) > 200 || !utf8.ValidString(customer):
		return effect, &httpguard.Problem{Type: httpguard.ProblemPrincipalMissing, Detail: "Say in X-Customer who orders, in at most 200 bytes of UTF-8."}
	case unread != nil || err != nil || o.Item == "" || len(o.Item) > 200 || o.Quantity < 1 || o.Quantity > 1000:
		return effect, &httpguard.Problem{Type: httpguard.ProblemBodyIncomplete, Detail: `Send an order: {"item":"tea","quantity":2}`}
	}
	// A client that hangs up does not stop its order.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 10*time.Second)
	defer cancel()
	invocation, err := s.guard.Prepare(reprise.Call{Operation: "place order", Principal: customer, Key: key, Payload: payload})
	if err != nil {
		return effect, problemOf(err)
	}
	effects := sqlitestore.Effects{Store: s.records}
	effect, err = effects.Do(ctx, s.db, invocation, func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		if err := tx.QueryRowContext(ctx, insert, customer, o.Item, o.Quantity).Scan(&o.ID); err != nil {
			return machine.Response{}, err // nothing is recorded, and nothing is ordered
		}
		body, err := json.Marshal(o)
		return machine.NewResponse(reprise.CodecJSON, body), err
	})
	return effect, problemOf(err)
}

// problemOf says why there is no answer.
func problemOf(err error) *httpguard.Problem {
	if err == nil {
		return nil
	}
	slog.Warn("no answer", "error", err)
	problem := httpguard.EffectProblem(err)
	return &problem
}
