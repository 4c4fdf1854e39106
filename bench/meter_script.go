package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
)

// markByHand is the least that whoever counts something once has to do: look for a mark, move a counter and a field of a
// hash, set the mark.
//
// KEYS 1 mark, 2 counter, 3 hash   ARGV 1 amount, 2 field, 3 life of the mark in ms
const markByHand = `
if redis.call('EXISTS', KEYS[1]) == 1 then
	return 0
end
redis.call('INCRBY', KEYS[2], ARGV[1])
redis.call('HINCRBY', KEYS[3], ARGV[2], ARGV[1])
redis.call('SET', KEYS[1], '1', 'PX', ARGV[3])
return 1`

// mark runs the script by hand under a fresh mark, on the keys of a line.
func (p *meterPlant) mark(ctx context.Context, script *rueidis.Lua) error {
	line := strconv.Itoa(rand.IntN(p.lines))
	n, err := script.Exec(ctx, p.client,
		[]string{"bare:{0}:mark:" + strconv.FormatInt(p.drawn.Add(1), 10), "bare:{0}:total:" + line, "bare:{0}:apps:" + line},
		[]string{strconv.Itoa(1 + rand.IntN(200_000)), "app:video:individual", strconv.FormatInt(lifeByHand.Milliseconds(), 10)}).AsInt64()
	if err == nil && n != 1 {
		err = errors.New("a fresh mark was there")
	}
	return err
}

// benchDeduct compares deductions with the script as it was seen on its way once, sent again under fresh records.
func (p *meterPlant) benchDeduct(ctx context.Context, s settings, t *table) error {
	sent, err := p.overhear(ctx, 500)
	if err != nil {
		return err
	}
	t.progress("meter: %d rounds of deductions", s.rounds)
	medians, ratio, err := inTurns(s.rounds,
		func() (float64, error) { return rate(ctx, meterCallers, func() error { return p.deduct(ctx) }) },
		func() (float64, error) { return rate(ctx, meterCallers, func() error { return p.again(ctx, sent) }) })
	if err != nil {
		return err
	}
	t.atLeast(fmt.Sprintf("meter, deductions at %d callers (%s)", meterCallers, thousands(medians.ours)),
		fmt.Sprintf("the same script sent bare (%s)", thousands(medians.limit)), ratio, 0.85, "×")
	return nil
}

// overheard is a deduction as it was sent: EVALSHA, its keys and arguments.
type overheard struct {
	sha        string
	keys, args []string
}

// recordKey is that of the record among the last keys of an effect.
const recordKey = 3

// overhear makes deductions, and returns what Redis was sent.
func (p *meterPlant) overhear(ctx context.Context, n int) (all []overheard, err error) {
	if err := p.deduct(ctx); err != nil { // from now on Redis knows the script
		return nil, err
	}
	ear, err := p.server.Dial(p.server.AdminDSN(1))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ear.Close()) }()
	if _, err := ear.Do("MONITOR"); err != nil {
		return nil, err
	}
	for len(all) < n {
		if err := p.deduct(ctx); err != nil {
			return nil, err
		}
		for heard := false; !heard; {
			line, err := ear.Receive()
			if err != nil {
				return nil, err
			}
			o, ok, err := parseOverheard(fmt.Sprint(line))
			if err != nil {
				return nil, err
			}
			if heard = ok; ok {
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// parseOverheard reads a line of MONITOR, such as 1339518083.107412 [0 127.0.0.1:60866] "EVALSHA" "…" "2" "k" "l" "a".
func parseOverheard(line string) (o overheard, ok bool, err error) {
	_, text, found := strings.Cut(line, "] ")
	if !found || !strings.HasPrefix(text, `"EVALSHA" `) {
		return o, false, nil
	}
	var words []string
	for text != "" {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return o, false, fmt.Errorf("MONITOR said %q: %w", line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return o, false, fmt.Errorf("MONITOR said %q: %w", line, err)
		}
		words, text = append(words, word), strings.TrimPrefix(text[len(quoted):], " ")
	}
	keys, err := strconv.Atoi(words[2])
	return overheard{words[1], words[3 : 3+keys], words[3+keys:]}, true, err
}

// again sends a deduction once more, under a record that is not there.
func (p *meterPlant) again(ctx context.Context, sent []overheard) error {
	o := sent[rand.IntN(len(sent))]
	keys := append([]string(nil), o.keys...)
	record := &keys[len(keys)-recordKey]
	digest := random[machine.Digest]()
	*record = (*record)[:len(*record)-len(digest)] + string(digest[:])
	_, err := p.client.Do(ctx, p.client.B().Evalsha().Sha1(o.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(o.args...).Build()).ToString() // all but an answer is no text
	return err
}

// benchScript compares what the script of a deduction takes of the server with what the script by hand takes, as the server
// counts it.
func (p *meterPlant) benchScript(ctx context.Context, s settings, t *table) error {
	script := rueidis.NewLuaScript(markByHand)
	t.progress("meter: %d rounds of scripts", s.rounds)
	medians, ratio, err := inTurns(s.rounds,
		func() (float64, error) { return p.serverTime(func() error { return p.deduct(ctx) }) },
		func() (float64, error) { return p.serverTime(func() error { return p.mark(ctx, script) }) })
	if err != nil {
		return err
	}
	t.atMost(fmt.Sprintf("meter, the server's time for a deduction (%s µs)", number(medians.ours)),
		fmt.Sprintf("a script with a mark, a counter and a field (%s µs)", number(medians.limit)), ratio, 2, "×")
	return nil
}

// serverTime returns how many microseconds a script takes that work runs.
func (p *meterPlant) serverTime(work func() error) (float64, error) {
	const calls, callers = 10_000, 32                      // so many that the server is always busy, and does not wait for a processor
	if err := times(calls/10, callers, work); err != nil { // the script is loaded
		return 0, err
	}
	if err := p.host.try(func() { p.server.Do("CONFIG", "RESETSTAT") }); err != nil {
		return 0, err
	}
	if err := times(calls, callers, work); err != nil {
		return 0, err
	}
	var info string
	if err := p.host.try(func() { info = fmt.Sprint(p.server.Do("INFO", "commandstats")) }); err != nil {
		return 0, err
	}
	const line, field = "cmdstat_evalsha:", "usec_per_call="
	_, text, _ := strings.Cut(info, line)
	_, text, found := strings.Cut(text, field)
	text, _, _ = strings.Cut(text, ",")
	if !found {
		return 0, fmt.Errorf("INFO commandstats has no %s with %s", line, field)
	}
	return strconv.ParseFloat(text, 64)
}
