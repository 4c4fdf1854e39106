package reprise_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store/memstore"
)

func benchGuard(b *testing.B) *reprise.Guard {
	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: make([]byte, 32)})
	if err != nil {
		b.Fatal(err)
	}
	g, err := reprise.New(memstore.New(nil), reprise.Policy{Secrets: secrets})
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// BenchmarkDo is the cost of the guard itself: a fresh key on memory, with an action that does nothing.
func BenchmarkDo(b *testing.B) {
	g := benchGuard(b)
	payload, answer := make([]byte, 256), make([]byte, 256)
	action := func(context.Context, *reprise.Run) (reprise.Response, error) {
		return reprise.Response{Data: answer}, nil
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		_, err := g.Do(context.Background(), reprise.Call{Operation: "bench", Principal: "p", Key: strconv.Itoa(n), Payload: payload}, action)
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay is the cost of a duplicate.
func BenchmarkReplay(b *testing.B) {
	g := benchGuard(b)
	call := reprise.Call{Operation: "bench", Principal: "p", Key: "k", Payload: make([]byte, 256)}
	action := func(context.Context, *reprise.Run) (reprise.Response, error) {
		return reprise.Response{Data: make([]byte, 256)}, nil
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Do(context.Background(), call, action); err != nil {
			b.Fatal(err)
		}
	}
}
