package faultnet_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/internal/faultnet"
)

// struck returns the numbers of the requests that a plan breaks, of ten that alternate.
func struck(plan faultnet.Plan) []int {
	var numbers []int
	for n := 1; n <= 10; n++ {
		text := "insert"
		if n%2 == 0 {
			text = "commit"
		}
		if plan(faultnet.Request{N: n, Conn: 1, Bytes: []byte(text)}) != (faultnet.Fault{}) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

func TestPlans(t *testing.T) {
	t.Parallel()
	fault := faultnet.RequestLost()
	for _, test := range []struct {
		name string
		plan faultnet.Plan
		want []int
	}{
		{"none", faultnet.None, nil},
		{"nth", faultnet.Nth(3, fault), []int{3}},
		{"from", faultnet.From(9, fault), []int{9, 10}},
		{"first", faultnet.First("commit", fault), []int{2}},
		{"every", faultnet.Every("commit", fault), []int{2, 4, 6, 8, 10}},
		{"always", faultnet.Random(1, 1, fault), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
	} {
		if got := struck(test.plan); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestRandomIsTheSameForTheSameSeed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for seed := range uint64(20) {
		first := struck(faultnet.Random(seed, 3, faultnet.RequestLost(), faultnet.ReplyLost()))
		again := struck(faultnet.Random(seed, 3, faultnet.RequestLost(), faultnet.ReplyLost()))
		if !slices.Equal(first, again) {
			t.Errorf("seed %d: %v, then %v", seed, first, again)
		}
		seen[fmt.Sprint(first)] = true
	}
	if len(seen) < 5 {
		t.Errorf("20 seeds make %d plans", len(seen))
	}
}
