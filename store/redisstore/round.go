package redisstore

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// Claims, and the completions of what this process has begun, need nothing but a look at one record. What callers
// want at the same time goes to the server as one round, which is a transaction: most of what such a command costs
// Redis' thread and this process is what comes with it. Who claims what has been claimed before is answered best by a
// mere look, so it is looked first while claims meet records again and again ([habit]).
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
	err := s.rounds.Do(ctx, t)
	if t.errand == looks {
		return unread(ctx, err)
	}
	return gather.Changing(ctx, err)
}

func (s *Store) roundAlone(ctx context.Context, t *turn) error {
	j := &gather.Job[turn]{Work: t}
	s.round(ctx, []*gather.Job[turn]{j})
	return j.Err
}

// round sends the turns of some callers.
func (s *Store) round(ctx context.Context, all []*gather.Job[turn]) {
	if unknown := s.sendRound(ctx, parted(all), inTransaction.byDigest); unknown.size() > 0 {
		s.sendRound(ctx, unknown, inTransaction.byText)
	}
}

// sendRound sends a transaction, and returns those whose script the server does not know: they are to be sent again, with the
// text.
func (s *Store) sendRound(ctx context.Context, p party, by wayOfSending) (unknown party) {
	b := s.client.B()
	commands := make(rueidis.Commands, 0, 6+2*len(p.looks))
	commands = append(commands, s.transaction.begin, s.generationsOf(p), s.transaction.time)
	for _, key := range p.looks.keys() {
		commands = append(commands, b.Getrange().Key(key).Start(0).End(roundFound-1).Build(), b.Pexpiretime().Key(key).Build())
	}
	if len(p.claims) > 0 {
		commands = append(commands, by(s.scripts.claim, b, p.claims.keys(), p.claims.claimArgs()))
	}
	if len(p.finishes) > 0 {
		commands = append(commands, by(s.scripts.finish, b, p.finishes.keys(), p.finishes.finishArgs()))
	}
	replies := s.client.DoMulti(ctx, append(commands, s.transaction.end)...)
	all, err := replies[len(replies)-1].ToArray()
	if begun, ok := rueidis.IsRedisErr(replies[0].Error()); ok {
		p.fail(store.Indeterminate(explain(begun)), unread(ctx, begun)) // the rest may have been run by itself
		return party{}
	}
	if err != nil {
		err = refusal(replies, err)
	} else {
		unknown, err = p.understand(ctx, all)
	}
	if err != nil {
		p.fail(sent(ctx, err), unread(ctx, err))
		return party{}
	}
	return unknown
}

// fail gives an error to all: to those who would write, and to those who only look.
func (p party) fail(written, looked error) {
	p.each(func(j *gather.Job[turn]) {
		if j.Err = written; j.Work.errand == looks {
			j.Err = looked
		}
	})
}

// generationsOf reads the generations of the buckets of some records.
func (s *Store) generationsOf(p party) rueidis.Completed {
	keys := make([]string, 0, p.size())
	p.each(func(j *gather.Job[turn]) { keys = append(keys, j.Work.keys[1]) })
	return s.client.B().Mget().Key(keys...).Build()
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
