package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// Claims, and the completions of what this process has begun, need nothing but a look at one record. What callers
// want at the same time goes to the server as one round, which is a transaction: most of what such a command costs
// Redis' thread and this process is what comes with it.
//
// The generations of the records' buckets are read in the same transaction: a server that has lost its data has lost
// those too. They are compared afterwards. What was written where a bucket has another one is void, and nobody asks for it.
//
// In a Cluster the records of a round would have to be in one bucket, which those of few callers are: there each goes
// by itself.

const (
	// roundLimit is how many share a round: nobody else is served meanwhile.
	roundLimit = 128
	// roundTurn is the most that a completion brings to a round.
	roundTurn = 64 << 10
	// roundsAtOnce: one is at the server while the other is understood.
	roundsAtOnce = 2
	// roundPatience is how long the server may take for one.
	roundPatience = 5 * time.Second
)

// turn is what one caller wants of a round.
type turn struct {
	keys       []string // of the record, and of its bucket's generation
	generation machine.Generation
	packed     []byte // the new record

	// Only of what finishes a record.
	known []byte // the head of that, without its first byte
	life  int64  // of the new record, from now, in milliseconds

	// What came of it.
	lost  bool   // the bucket has another generation
	done  bool   // the record was written
	now   int64  // the server's time
	found []byte // the record that a claim has found
	until int64  // when that expires, or what was made
}

// claims reports whether the turn makes a record where there is none.
func (t *turn) claims() bool { return t.known == nil }

// serveRounds begins to serve callers in rounds, where the server allows it. They end when nobody calls any more.
func (s *Store) serveRounds() {
	ctx, end := context.WithCancel(context.Background())
	s.endRounds = end
	if s.dialer.dsn.topology == "cluster" {
		return
	}
	s.rounds = gather.NewGroup(roundLimit, roundPatience, s.round)
	for range roundsAtOnce {
		s.helpers.Go(func() { s.rounds.Work(ctx) })
	}
}

// joinRound has a turn done, with those of others.
func (s *Store) joinRound(ctx context.Context, t *turn) error {
	if s.rounds == nil || len(t.packed) > roundTurn {
		return s.roundAlone(ctx, t)
	}
	return gather.Changing(ctx, s.rounds.Do(ctx, t))
}

func (s *Store) roundAlone(ctx context.Context, t *turn) error {
	j := &gather.Job[turn]{Work: t}
	s.round(ctx, []*gather.Job[turn]{j})
	return j.Err
}

// round sends the turns of some callers.
func (s *Store) round(ctx context.Context, jobs []*gather.Job[turn]) {
	claims, finishes := parted(jobs)
	if s.sendRound(ctx, claims, finishes, s.scripts.finish.byDigest) {
		s.sendRound(ctx, nil, finishes, s.scripts.finish.byText)
	}
}

// parted returns what claims and what finishes.
func parted(jobs []*gather.Job[turn]) (claims, finishes []*gather.Job[turn]) {
	for _, j := range jobs {
		if j.Work.claims() {
			claims = append(claims, j)
		} else {
			finishes = append(finishes, j)
		}
	}
	return claims, finishes
}

// sendRound sends a transaction, and reports whether the server did not know the script for what finishes: that is to be sent
// again, with the text.
func (s *Store) sendRound(ctx context.Context, claims, finishes []*gather.Job[turn], script evaluation) (again bool) {
	b := s.client.B()
	commands := make(rueidis.Commands, 0, 5+2*len(claims))
	commands = append(commands, s.transaction.begin, s.generationsOf(claims, finishes), s.transaction.time)
	for _, j := range claims {
		key := j.Work.keys[0]
		commands = append(commands,
			b.Set().Key(key).Value(rueidis.BinaryString(j.Work.packed)).Nx().Get().PxMilliseconds(nominalLife).Build(),
			b.Pexpiretime().Key(key).Build())
	}
	if len(finishes) > 0 {
		commands = append(commands, script(b, keysOf(finishes), argsOf(finishes)))
	}
	replies := s.client.DoMulti(ctx, append(commands, s.transaction.end)...)
	all, err := replies[len(replies)-1].ToArray()
	if err == nil {
		err = understandClaims(claims, finishes, all)
	}
	if begun, ok := rueidis.IsRedisErr(replies[0].Error()); ok {
		doubt(store.Indeterminate(explain(begun)), claims, finishes) // the rest may have been run by itself
		return false
	}
	if err != nil {
		doubt(sent(ctx, refusal(replies, err)), claims, finishes)
		return false
	}
	err = understandFinishes(finishes, all[len(all)-1])
	if reply, ok := rueidis.IsRedisErr(err); ok && reply.IsNoScript() {
		return true
	}
	if err != nil {
		doubt(sent(ctx, err), finishes)
	}
	return false
}

// doubt gives an error to callers.
func doubt(err error, groups ...[]*gather.Job[turn]) {
	for _, jobs := range groups {
		for _, j := range jobs {
			j.Err = err
		}
	}
}

// generationsOf reads the generations of the buckets of some records.
func (s *Store) generationsOf(claims, finishes []*gather.Job[turn]) rueidis.Completed {
	keys := make([]string, 0, len(claims)+len(finishes))
	for _, j := range claims {
		keys = append(keys, j.Work.keys[1])
	}
	for _, j := range finishes {
		keys = append(keys, j.Work.keys[1])
	}
	return s.client.B().Mget().Key(keys...).Build()
}

func keysOf(jobs []*gather.Job[turn]) []string {
	keys := make([]string, len(jobs))
	for i, j := range jobs {
		keys[i] = j.Work.keys[0]
	}
	return keys
}

// argsOf are those of the script that finishes.
func argsOf(jobs []*gather.Job[turn]) []string {
	args := make([]string, 0, 3*len(jobs))
	for _, j := range jobs {
		args = append(args, rueidis.BinaryString(j.Work.known), rueidis.BinaryString(j.Work.packed), strconv.FormatInt(j.Work.life, 10))
	}
	return args
}

// errRound is a reply that nobody expects.
var errRound = errors.New("the reply of Redis has another form than expected")

// understandClaims tells all whether their buckets are lost, and those who claim what came of it.
func understandClaims(claims, finishes []*gather.Job[turn], all []rueidis.RedisMessage) error {
	if len(all) < 2+2*len(claims) {
		return errRound
	}
	generations, err := all[0].ToArray()
	if err != nil {
		return err
	}
	now, err := timeOf(all[1])
	if err != nil || len(generations) != len(claims)+len(finishes) {
		return errors.Join(errRound, err)
	}
	for i, j := range claims {
		j.Work.lost = !j.Work.in(generations[i])
		j.Err = unavailable(j.Work.claimed(now, all[2+2*i], all[3+2*i]))
	}
	for i, j := range finishes {
		j.Work.lost = !j.Work.in(generations[len(claims)+i])
	}
	return nil
}

// understandFinishes tells those who finish what came of it.
func understandFinishes(finishes []*gather.Job[turn], reply rueidis.RedisMessage) error {
	if len(finishes) == 0 {
		return nil
	}
	codes, err := reply.ToArray()
	if err != nil {
		return err
	}
	if len(codes) != 1+len(finishes) {
		return errRound
	}
	now, err := codes[0].AsInt64()
	for i, j := range finishes {
		j.Err = unavailable(j.Work.finished(now, codes[1+i]))
	}
	return err
}

// claimed notes what a claim has found, or made.
func (t *turn) claimed(now int64, before, expiry rueidis.RedisMessage) (err error) {
	t.now = now
	if t.found, err = before.AsBytes(); rueidis.IsRedisNil(err) {
		t.done, err = true, nil
	}
	if err == nil {
		t.until, err = expiry.AsInt64()
	}
	return err
}

// finished notes whether a record was replaced.
func (t *turn) finished(now int64, code rueidis.RedisMessage) error {
	n, err := code.AsInt64()
	t.now, t.done = now, n == 1
	return err
}

// in reports whether the record's bucket has the generation that this process knows.
func (t *turn) in(generation rueidis.RedisMessage) bool {
	value, err := generation.ToString()
	return err == nil && value == string(t.generation[:])
}

// timeOf reads the reply to TIME, in milliseconds.
func timeOf(message rueidis.RedisMessage) (ms int64, err error) {
	parts, err := message.AsIntSlice()
	if err != nil || len(parts) != 2 {
		return 0, errors.Join(errRound, err)
	}
	return parts[0]*1000 + parts[1]/1000, nil
}

// unavailable translates the error of a command that was refused by itself, in a transaction.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return store.Unavailable(explain(err))
}

// transaction is what every one is made of besides.
type transaction struct{ begin, time, end rueidis.Completed }

func newTransaction(client rueidis.Client) transaction {
	return transaction{client.B().Multi().Build().Pin(), client.B().Time().Build().Pin(), client.B().Exec().Build().Pin()}
}

// refusal returns why a transaction was not run: the server says it of the command that it refused.
func refusal(replies []rueidis.RedisResult, err error) error {
	if _, ok := rueidis.IsRedisErr(err); !ok {
		return err
	}
	for _, reply := range replies[:len(replies)-1] {
		if cause := reply.Error(); cause != nil {
			return cause
		}
	}
	return err
}
