package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/proxy"
	"github.com/reprise-dev/reprise/store/memstore"
)

// A service that makes an order with each request, and a proxy in front of it that makes retries safe.
func ExampleNew() {
	orders := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		orders++
		fmt.Fprintf(w, "order %d", orders)
	}))
	defer service.Close()
	upstream, _ := url.Parse(service.URL)
	secrets, _ := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: bytes.Repeat([]byte("?"), reprise.MinSecret)})

	p, err := proxy.New(context.Background(), memstore.New(nil), proxy.Settings{
		Upstream: upstream,
		Routes: []proxy.Route{{
			Path:          "/orders",
			PrincipalName: "authorization",
			Policy:        reprise.Policy{Secrets: secrets},
			Options:       httpguard.Options{Principal: httpguard.Authorization()},
		}},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close(context.Background())
	front := httptest.NewServer(p)
	defer front.Close()

	for range 3 {
		r, _ := http.NewRequest(http.MethodPost, front.URL+"/orders", strings.NewReader("book"))
		r.Header.Set("Authorization", "Bearer token")
		r.Header.Set("Idempotency-Key", "8e03978e")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		fmt.Printf("%s, replayed: %t\n", body, response.Header.Get(httpguard.HeaderReplayed) == "true")
	}
	fmt.Println("orders:", orders)
	// Output:
	// order 1, replayed: false
	// order 1, replayed: true
	// order 1, replayed: true
	// orders: 1
}
