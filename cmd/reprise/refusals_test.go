package main

import (
	"strings"
	"testing"
)

// What a person types wrong at first is refused by every command alike, before anything is opened, with what to do: so
// is a prefix by which the keys that a deduction changes would be in different slots of a Cluster (case M21).
func TestRefusalsOfEveryCommand(t *testing.T) {
	t.Parallel()
	const braces, ledger = "redis://127.0.0.1:1/0?prefix={shop}:", "postgres://u@127.0.0.1:1/d"
	const unfilled = "redis+sentinel://u@127.0.0.1:1/{MASTER}/0"
	both := []string{"--redis", braces, "--ledger", ledger}
	for _, c := range []struct {
		says string
		args [][]string
	}{
		{"without braces", [][]string{
			{"proxy", "--store", braces, "--upstream", "http://127.0.0.1:1", "--principal", "none", "--listen", "127.0.0.1:0"},
			{"ops", "list", "--store", braces}, {"store", "init", "--new", "--store", braces}, {"store", "copy", "--from", braces, "--to", "sqlite:x"},
			append([]string{"serve"}, both...), append([]string{"meter", "serve"}, both...), append([]string{"meter", "hydrate"}, both...),
			append([]string{"meter", "show", "line", "1"}, both...), append([]string{"meter", "dead-letters", "list"}, both...),
			append([]string{"restore", "assess"}, both...), append([]string{"restore", "start"}, both...),
		}},
		{`names the master "{MASTER}"`, [][]string{
			{"ops", "list", "--store", unfilled}, {"store", "copy", "--from", unfilled, "--to", "sqlite:x"}, {"meter", "serve", "--redis", unfilled, "--ledger", ledger},
		}},
		{"reprise: --from: the store's DSN names no host", [][]string{{"store", "copy", "--from", "redis://", "--to", "sqlite:x"}}},
		{"reprise: --from \"shop\" names no kind of store", [][]string{{"store", "copy", "--from", "shop", "--to", "sqlite:x"}}},
		{"reprise: the ledger's DSN begins with \"sqlite\"", [][]string{
			{"meter", "serve", "--redis", "redis://127.0.0.1:1", "--ledger", "sqlite:x"}, {"meter", "hydrate", "--redis", "redis://127.0.0.1:1", "--ledger", "sqlite:x"},
			{"restore", "status", "--redis", "redis://127.0.0.1:1", "--ledger", "sqlite:x"}, {"serve", "--redis", "redis://127.0.0.1:1", "--ledger", "sqlite:x"},
			{"migrate", "up", "--ledger", "sqlite:x"}, {"migrate", "status", "--ledger", "sqlite:x"}, {"migrate", "print", "--ledger", "sqlite:x"},
		}},
		{"name the right file with --config", [][]string{
			{"proxy", "--config", "missing.yaml"}, {"config", "check", "--config", "missing.yaml"}, {"meter", "serve", "--config", "missing.yaml"},
			{"restore", "start", "--config", "missing.yaml"}, {"serve", "--config", "missing.yaml"},
		}},
		{"does not know", [][]string{{"help", "bogus"}, {"help", "meter", "bogus"}, {"bogus"}}},
		{"redis+sentinel://USER@HOST,HOST/MASTER/DATABASE, redis+cluster://", [][]string{{"ops", "list", "--store", "shop"}, {"ops", "list", "--store", "shop:x"}}},
	} {
		for _, args := range c.args {
			if code, text := refusal(t, nil, args...); code != exitUsage || !strings.Contains(text, c.says) {
				t.Errorf("%v: exit code %d, and it says %q; want %q", args, code, text, c.says)
			}
		}
	}
	if r := call(t, "", "help", "meter", "serve"); r.code != 0 || !strings.Contains(r.out, "Answers HTTP") {
		t.Errorf("help: %+v", r)
	}
}
