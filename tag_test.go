package reprise_test

import (
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
)

// A tag decides the bucket of a key's record, and is part of the key.
func TestTag(t *testing.T) {
	t.Parallel()
	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: make([]byte, reprise.MinSecret)})
	if err != nil {
		t.Fatal(err)
	}
	g, err := reprise.New(memstore.New(nil), reprise.Policy{Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	prepare := func(key, tag string) store.Candidate {
		v, err := g.Prepare(reprise.Call{Operation: "charge", Principal: "p", Key: key, Tag: tag})
		if err != nil {
			t.Fatal(err)
		}
		return v.Candidates[0]
	}
	for _, key := range []string{"1", "2", "3"} {
		tagged := prepare(key, "account 7").Scope.Digest
		if got, want := store.BucketOf(tagged), store.TagBucket("account 7"); got != want {
			t.Errorf("key %s is in bucket %d, want %d", key, got, want)
		}
		plain := prepare(key, "").Scope.Digest
		if tagged == prepare(key, "account 8").Scope.Digest || tagged != prepare(key, "account 7").Scope.Digest || string(tagged[2:]) != string(plain[2:]) {
			t.Errorf("key %s: the tag changes more than the bucket, or nothing", key)
		}
	}
}
