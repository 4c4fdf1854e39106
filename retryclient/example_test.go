package retryclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/reprise-dev/reprise/retryclient"
)

// The server is overloaded at first. The call succeeds all the same, under one key.
func ExampleClient() {
	keys := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys[r.Header.Get("Idempotency-Key")]++
		if keys[r.Header.Get("Idempotency-Key")] < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()

	client := retryclient.Client(nil, retryclient.Options{FirstBackoff: 1})
	response, err := client.Post(server.URL, "text/plain", strings.NewReader("one coffee"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	fmt.Println(response.StatusCode, "with", len(keys), "key")
	// Output: 201 with 1 key
}

// Where nobody knows what happened, the error has the key to ask again with.
func ExampleWithKey() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"type": "urn:reprise:problem:outcome-unknown", "detail": "the service did not answer"}`)
	}))
	defer server.Close()

	client := retryclient.Client(nil, retryclient.Options{})
	_, err := client.Post(server.URL, "text/plain", strings.NewReader("one coffee"))
	var unknown *retryclient.UnknownError
	if errors.As(err, &unknown) {
		fmt.Println(unknown)
		later := retryclient.WithKey(context.Background(), unknown.Key)
		_, _ = http.NewRequestWithContext(later, http.MethodPost, server.URL, strings.NewReader("one coffee"))
	}
	// Output: retryclient: outcome unknown (tries: 1, last answer 409 Conflict: the service did not answer): ask again with the same key
}
