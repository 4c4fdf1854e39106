package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// A line that did not come out as promised is marked, shows both, and fails the demonstration.
func TestReport(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := &report{out: &out}
	r.line("as promised", evidence{"201", "1", 1, ""}, evidence{"201", "1", 1, ""})
	if err := r.end(); err != nil || !strings.Contains(out.String(), "All 1 lines") {
		t.Errorf("error %v, printed:\n%s", err, out.String())
	}
	r.line("made twice", evidence{"201", "2", 2, ""}, evidence{"201", "1", 1, "replayed"})
	if err := r.end(); err == nil || err.Error() != "1 of 2 lines did not come out as promised" {
		t.Errorf("error %v", err)
	}
	want := "  FAILED  made twice                                          201      2      2\n" +
		"          this was promised:                                  201      1      1  replayed\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("printed:\n%s", out.String())
	}
}

// What is not the same of all answers is told apart.
func TestSummary(t *testing.T) {
	t.Parallel()
	same := answered{"201", "2", "replayed"}
	if got := summary([]answered{same, same, {"201", "2", ""}}); got != (evidence{"3 x 201", "2", 0, "2 replayed"}) {
		t.Errorf("%+v", got)
	}
	if got := summary([]answered{same, {"201", "3", ""}, {"409", "", ""}}); got != (evidence{"1 x 409, 2 x 201", ", 2, 3", 0, "1 replayed"}) {
		t.Errorf("%+v", got)
	}
}

// The order service knows nothing of keys: asked twice, it makes two. Its count outlives it.
func TestOrders(t *testing.T) {
	t.Parallel()
	book := filepath.Join(t.TempDir(), "orders.txt")
	first := openTestOrders(t, book)
	for _, number := range []string{"1", "2"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(`{"item": "coffee"}`))
		r.Header.Set("Idempotency-Key", "same")
		first.make(w, r)
		if w.Code != http.StatusCreated || w.Header().Get("Location") != "/orders/"+number {
			t.Errorf("order %s: status %d, headers %v", number, w.Code, w.Header())
		}
	}
	w := httptest.NewRecorder()
	if first.make(w, httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader("coffee"))); w.Code != http.StatusBadRequest {
		t.Errorf("an order that is not JSON: status %d", w.Code)
	}
	w = httptest.NewRecorder()
	if openTestOrders(t, book).count(w, nil); w.Body.String() != "{\"made\":2}\n" {
		t.Errorf("after a restart: %s", w.Body)
	}
}

func openTestOrders(t *testing.T, book string) *orders {
	t.Helper()
	o, err := openOrders(book)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.book.Close() })
	return o
}
