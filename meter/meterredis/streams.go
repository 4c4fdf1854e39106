package meterredis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

//go:embed script/intake.lua
var intakeLua string

//go:embed script/done.lua
var doneLua string

//go:embed script/leave.lua
var leaveLua string

//go:embed script/bury.lua
var buryLua string

//go:embed script/dismiss.lua
var dismissLua string

//go:embed script/resend.lua
var resendLua string

// Shards is the number of streams that events wait in. Those of a line are all in one.
const Shards = 16

// group is that of the workers.
const group = "meter"

// Streams hold events between intake and the done log: an event leaves its stream when its row is committed, or as a
// dead letter. They may be used by several goroutines.
type Streams struct {
	client  rueidis.Client
	names   names
	limit   int64 // of a stream
	intake  *rueidis.Lua
	done    *rueidis.Lua
	resend  *rueidis.Lua
	leave   *rueidis.Lua
	dismiss *rueidis.Lua
	bury    *rueidis.Lua
}

// Message is a delivery of an event.
type Message struct {
	Shard int
	ID    string // of the delivery, in its stream
	Text  string // the event's JSON
}

// DeadLetter is an event that was refused for good.
type DeadLetter struct {
	Shard  int
	ID     string
	Text   string
	Reason meter.Reason
	Detail string
}

// ErrFull is the error of an intake whose stream has no room: send the events again later. None was taken in.
var ErrFull = errors.New("the stream of the line is full: workers do not keep up")

// OpenStreams returns the streams of a meter, of which each holds at most limit events, and sees to it that they are there.
func (m *Meter) OpenStreams(ctx context.Context, limit int64) (*Streams, error) {
	s := &Streams{
		client: m.client, names: m.names, limit: limit, intake: rueidis.NewLuaScript(intakeLua), done: rueidis.NewLuaScript(doneLua), resend: rueidis.NewLuaScript(resendLua),
		leave: rueidis.NewLuaScript(leaveLua), dismiss: rueidis.NewLuaScript(dismissLua), bury: rueidis.NewLuaScript(buryLua),
	}
	for shard := range Shards {
		if err := s.make(ctx, shard); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// make sees to it that the stream of a shard is there, with its group.
func (s *Streams) make(ctx context.Context, shard int) error {
	create := s.client.B().XgroupCreate().Key(s.names.intake(shard)).Group(group).Id("0").Mkstream().Build()
	if err := s.client.Do(ctx, create).Error(); err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return store.Unavailable(fmt.Errorf("make the streams: %w", err))
	}
	return nil
}

// gone reports whether an error says that a stream is not there any more: Redis was emptied, and hydrated since.
func gone(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "NOGROUP") }

// ShardOf returns the stream of a line.
func ShardOf(line string) int {
	return store.TagBucket(meter.UnitTag(line, "")) / (store.Buckets / Shards)
}

// Add takes in events of one shard, all or none. After an error that says indeterminate they may be in the stream: taking them in
// again is harmless, because each counts once.
func (s *Streams) Add(ctx context.Context, shard int, events ...meter.Event) error {
	args := []string{number(s.limit)}
	for _, e := range events {
		args = append(args, string(e.AppendJSON(nil)))
	}
	n, err := s.intake.Exec(ctx, s.client, []string{s.names.intake(shard)}, args).AsInt64()
	switch {
	case err != nil:
		return failed("take in events", err)
	case n == 0:
		return ErrFull
	}
	return nil
}

// failed translates the error of a command that may have been run.
func failed(what string, err error) error {
	if _, reply := rueidis.IsRedisErr(err); reply {
		return store.Unavailable(fmt.Errorf("%s: %w", what, err))
	}
	return store.Indeterminate(fmt.Errorf("%s: %w", what, err))
}

// Read returns up to count deliveries that nobody had yet, and waits for the first at most as long as wait. They belong to the
// consumer until it is done with them, or was silent for so long that another one claims them.
func (s *Streams) Read(ctx context.Context, shard int, consumer string, count int64, wait time.Duration) ([]Message, error) {
	read := s.client.B().Xreadgroup().Group(group, consumer).Count(count).Block(wait.Milliseconds()).
		Streams().Key(s.names.intake(shard)).Id(">").Build()
	return s.messages(ctx, shard, read)
}

func (s *Streams) messages(ctx context.Context, shard int, read rueidis.Completed) ([]Message, error) {
	entries, err := s.client.Do(ctx, read).AsXRead()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	if gone(err) {
		return nil, s.make(ctx, shard)
	}
	if err != nil {
		return nil, store.Unavailable(fmt.Errorf("read deliveries: %w", err))
	}
	return messagesOf(shard, entries[s.names.intake(shard)]), nil
}

func messagesOf(shard int, entries []rueidis.XRangeEntry) (all []Message) {
	for _, e := range entries {
		all = append(all, Message{shard, e.ID, e.FieldValues["event"]})
	}
	return all
}

// Claim takes over up to count deliveries whose consumers were silent for idle, of those from an id on: the empty one is the beginning. It returns
// from where to go on, which is empty at the end.
func (s *Streams) Claim(ctx context.Context, shard int, consumer string, idle time.Duration, from string, count int64) (taken []Message, next string, err error) {
	if from == "" {
		from = firstID
	}
	claim := s.client.B().Xautoclaim().Key(s.names.intake(shard)).Group(group).Consumer(consumer).
		MinIdleTime(strconv.FormatInt(idle.Milliseconds(), 10)).Start(from).Count(count).Build()
	reply, err := s.client.Do(ctx, claim).ToArray()
	if gone(err) {
		return nil, "", s.make(ctx, shard)
	}
	if err != nil || len(reply) < 2 {
		return nil, "", store.Unavailable(fmt.Errorf("claim deliveries: %w", err))
	}
	entries, err := reply[1].AsXRange()
	if err == nil {
		next, err = reply[0].ToString()
	}
	if err != nil {
		return nil, "", store.Unavailable(fmt.Errorf("claim deliveries: %w", err))
	}
	if next == firstID {
		next = ""
	}
	return messagesOf(shard, entries), next, nil
}

// firstID is before every delivery.
const firstID = "0-0"

// Verdict is a delivery that was refused for good.
type Verdict struct {
	Message
	Reason meter.Reason
	Detail string
}

// Done removes deliveries of one shard that are dealt with: those whose rows are committed, and those that were refused, which
// become dead letters. It may be repeated.
func (s *Streams) Done(ctx context.Context, shard int, done []Message, refused []Verdict) error {
	args := []string{group, strconv.Itoa(len(done))}
	for _, m := range done {
		args = append(args, m.ID)
	}
	for _, v := range refused {
		args = append(args, v.ID, v.Text, string(v.Reason), v.Detail)
	}
	if len(args) == 2 {
		return nil
	}
	if err := s.done.Exec(ctx, s.client, []string{s.names.intake(shard), s.names.dead(shard)}, args).Error(); err != nil {
		return failed("acknowledge deliveries", err)
	}
	return nil
}

// Leave removes a consumer from the shards in which it has nothing left. What it has elsewhere others claim.
func (s *Streams) Leave(ctx context.Context, consumer string) error {
	var calls []rueidis.LuaExec
	for shard := range Shards {
		calls = append(calls, rueidis.LuaExec{Keys: []string{s.names.intake(shard)}, Args: []string{group, consumer}})
	}
	for _, reply := range s.leave.ExecMulti(ctx, s.client, calls...) {
		if err := reply.Error(); err != nil {
			return failed("leave", err)
		}
	}
	return nil
}

// Dismiss removes those consumers of a shard that have no delivery and were silent for idle, and returns how many: a process that is killed does not
// leave, and its name would stay for ever. A consumer that is only slow loses nothing by it.
func (s *Streams) Dismiss(ctx context.Context, shard int, idle time.Duration) (int64, error) {
	n, err := s.dismiss.Exec(ctx, s.client, []string{s.names.intake(shard)}, []string{group, strconv.FormatInt(idle.Milliseconds(), 10)}).AsInt64()
	if err != nil {
		return 0, failed("dismiss silent consumers", err)
	}
	return n, nil
}

// Waiting returns how many events are in the streams.
func (s *Streams) Waiting(ctx context.Context) (int64, error) { return s.length(ctx, s.names.intake) }

// Dead returns how many dead letters there are.
func (s *Streams) Dead(ctx context.Context) (int64, error) { return s.length(ctx, s.names.dead) }

// length sums up the streams of all shards that have such a name.
func (s *Streams) length(ctx context.Context, name func(shard int) string) (total int64, err error) {
	var ask rueidis.Commands
	for shard := range Shards {
		ask = append(ask, s.client.B().Xlen().Key(name(shard)).Build())
	}
	for _, reply := range s.client.DoMulti(ctx, ask...) {
		n, err := reply.AsInt64()
		if err != nil {
			return 0, store.Unavailable(fmt.Errorf("count the streams: %w", err))
		}
		total += n
	}
	return total, nil
}

// Entries returns up to count events of a shard after an id, the empty id is the beginning, whoever has them: of those that wait, or of dead
// letters. It changes nothing, and makes no stream.
func (m *Meter) Entries(ctx context.Context, shard int, dead bool, after string, count int64) ([]Message, error) {
	key, from := m.names.intake(shard), "-"
	if dead {
		key = m.names.dead(shard)
	}
	if after != "" {
		from = "(" + after
	}
	entries, err := m.client.Do(ctx, m.client.B().Xrange().Key(key).Start(from).End("+").Count(count).Build()).AsXRange()
	if err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") {
		return nil, nil // which verification says
	}
	if err != nil {
		return nil, store.Unavailable(fmt.Errorf("read %s: %w", key, err))
	}
	return messagesOf(shard, entries), nil
}

// DeadLetters returns up to count dead letters of a shard after an id; the empty id is the beginning.
func (s *Streams) DeadLetters(ctx context.Context, shard int, after string, count int64) (all []DeadLetter, err error) {
	from := "-"
	if after != "" {
		from = "(" + after
	}
	entries, err := s.client.Do(ctx, s.client.B().Xrange().Key(s.names.dead(shard)).Start(from).End("+").Count(count).Build()).AsXRange()
	if err != nil {
		return nil, store.Unavailable(fmt.Errorf("read dead letters: %w", err))
	}
	for _, e := range entries {
		all = append(all, DeadLetter{shard, e.ID, e.FieldValues["event"], meter.Reason(e.FieldValues["reason"]), e.FieldValues["detail"]})
	}
	return all, nil
}

// Resend puts a dead letter back into its stream, and reports whether it was still there.
func (s *Streams) Resend(ctx context.Context, d DeadLetter) (bool, error) {
	n, err := s.resend.Exec(ctx, s.client, []string{s.names.intake(d.Shard), s.names.dead(d.Shard)}, []string{d.ID, d.Text}).AsInt64()
	if err != nil {
		return false, failed("resend a dead letter", err)
	}
	return n == 1, nil
}

// Buried is an event of the inbox that was refused for good.
type Buried struct {
	Number   int64 // that it has in the inbox
	Text     string
	Received time.Time
	Reason   meter.Reason
	Detail   string
}

// clocksDiffer is by how much the clocks of SQL and Redis may differ, so that a dead letter is there at most once.
const clocksDiffer = time.Hour

// Bury adds dead letters of events from the inbox to those of a shard. It may be repeated: one that is there is not added again.
func (s *Streams) Bury(ctx context.Context, shard int, letters ...Buried) error {
	if len(letters) == 0 {
		return nil
	}
	first, args := letters[0].Received, []string{""}
	for _, l := range letters {
		if l.Received.Before(first) {
			first = l.Received
		}
		args = append(args, number(l.Number), l.Text, string(l.Reason), l.Detail)
	}
	args[0] = number(max(0, first.Add(-clocksDiffer).UnixMilli()))
	if err := s.bury.Exec(ctx, s.client, []string{s.names.dead(shard)}, args).Error(); err != nil {
		return failed("keep dead letters", err)
	}
	return nil
}
