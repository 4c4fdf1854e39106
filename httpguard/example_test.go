package httpguard_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/store/memstore"
)

func newGuard() *reprise.Guard {
	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: []byte("32 random bytes from your vault.")})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := reprise.New(memstore.New(nil), reprise.Policy{Secrets: secrets})
	if err != nil {
		log.Fatal(err)
	}
	return guard
}

// request sends a POST with a key, as a client would.
func request(h http.Handler, path, key, caller string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, strings.NewReader(`{"item":"tea"}`))
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("Authorization", "Bearer "+caller)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// The same request twice: one order, one answer. Another caller's request under the same key is another
// request.
func Example() {
	guarded, err := httpguard.New(newGuard(), httpguard.Options{Principal: httpguard.Authorization()})
	if err != nil {
		log.Fatal(err)
	}
	orders := 0
	mux := http.NewServeMux()
	mux.Handle("POST /orders", guarded.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		orders++
		w.Header().Set("Location", fmt.Sprintf("/orders/%d", orders))
		w.WriteHeader(http.StatusCreated)
	})))
	for _, caller := range []string{"alice", "alice", "bob"} {
		w := request(mux, "/orders", "8e03978e", caller)
		fmt.Println(w.Code, w.Header().Get("Location"), "replayed:", w.Header().Get("Idempotency-Replayed") == "true")
	}
	// Output:
	// 201 /orders/1 replayed: false
	// 201 /orders/1 replayed: true
	// 201 /orders/2 replayed: false
}

// A handler that knows more than its status says reports it: the order was refused before anything
// happened, so the same key can be used again.
func ExampleReport() {
	guarded, err := httpguard.New(newGuard(), httpguard.Options{Principal: httpguard.None()})
	if err != nil {
		log.Fatal(err)
	}
	soldOut := true
	h := guarded.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if soldOut {
			httpguard.Report(r.Context(), httpguard.NoEffect, "sold out")
			http.Error(w, "sold out", http.StatusConflict)
			return
		}
		fmt.Fprint(w, "ordered")
	}))
	fmt.Println(strings.TrimSpace(request(h, "/orders", "k1", "alice").Body.String()))
	soldOut = false
	fmt.Println(request(h, "/orders", "k1", "alice").Body.String())
	// Output:
	// sold out
	// ordered
}

// The key for a call to another service is derived from this request's: a second attempt sends the same.
func ExampleRunFrom() {
	guarded, err := httpguard.New(newGuard(), httpguard.Options{Principal: httpguard.None(), NoEffect: []int{http.StatusBadGateway}})
	if err != nil {
		log.Fatal(err)
	}
	var sent []string
	h := guarded.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, httpguard.RunFrom(r.Context()).DownstreamKey("charge"))
		w.WriteHeader(http.StatusBadGateway)
	}))
	request(h, "/orders", "k1", "alice")
	request(h, "/orders", "k1", "alice")
	fmt.Println(len(sent), sent[0] == sent[1])
	// Output: 2 true
}

// Without a principal the middleware cannot be made.
func ExampleNew_principal() {
	_, err := httpguard.New(newGuard(), httpguard.Options{})
	fmt.Println(err)
	// Output:
	// httpguard: Options.Principal is missing: choose what tells callers apart, so that none gets another's answer.
	// Authorization() for fixed credentials, Header("X-User") behind a gateway, JWT(…), Certificate(); None() only if all callers may share keys
}

// A problem is written in the form that this package uses for its own.
func ExampleWriteProblem() {
	w := httptest.NewRecorder()
	httpguard.WriteProblem(w, httpguard.Problem{Type: httpguard.ProblemUpstreamNoAnswer, Detail: "Ask the operator."})
	fmt.Print(w.Code, " ", w.Body)
	// Output:
	// 504 {"type":"urn:reprise:problem:upstream-no-answer","title":"The request was sent to the upstream, and no usable answer came","status":504,"detail":"Ask the operator."}
}
