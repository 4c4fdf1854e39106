package redisstore_test

import (
	"context"
	"fmt"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

func ExampleOpen() {
	s, err := redisstore.Open(context.Background(), "redis://127.0.0.1:1/0", redisstore.Options{})
	if err != nil {
		fmt.Println("nobody listens there:", store.Classify(err))
		return
	}
	defer s.Close()
	// Output: nobody listens there: store unavailable
}

// An account is charged once for each key, in one step with the key's record. The guard prepares the invocation from
// a call that names the account as its tag.
func ExampleEffect_Do() {
	charge, err := redisstore.NewEffect("charge", `
		local left = tonumber(redis.call('GET', KEYS[1]) or '0')
		if left < tonumber(ARGV[1]) then
			return noEffect('insufficient funds')
		end
		return redis.call('DECRBY', KEYS[1], ARGV[1])
	`)
	if err != nil {
		fmt.Println(err)
		return
	}
	pay := func(ctx context.Context, s *redisstore.Store, invocation *store.Invocation, account string) (left string, err error) {
		balance := "balance:" + redisstore.Bucket(account) + ":" + account
		effect, err := charge.Do(ctx, s, invocation, []string{balance}, "100")
		return string(effect.Response.Data), err
	}
	s, err := redisstore.Open(context.Background(), "redis://127.0.0.1:1/0", redisstore.Options{})
	if err != nil {
		fmt.Println(store.Classify(err))
		return
	}
	defer s.Close()
	fmt.Println(pay(context.Background(), s, &store.Invocation{}, "account 7"))
	// Output: store unavailable
}
