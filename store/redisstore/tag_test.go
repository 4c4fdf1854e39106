package redisstore

import (
	"strings"
	"testing"
)

// Of several braces in a key the first ones decide its slot. An effect that named such a key went with its record on one server, and nowhere in a
// Cluster.
func TestAKeysFirstTagIsItsSlot(t *testing.T) {
	t.Parallel()
	begin := newBegin()
	tag := bucketTag(bucketOf(begin.Scope.Digest))
	for key, fits := range map[string]bool{
		"balance:" + tag: true, tag: true, tag + "user{7}": true,
		"user{7}:" + tag: false, "{}" + tag: false, "balance": false, "{" + tag: false, strings.TrimSuffix(tag, "}"): false,
	} {
		c := &effectCall{keys: []string{key}}
		c.target.bucket = bucketOf(begin.Scope.Digest)
		if reason := c.invalid(begin); (reason == "") != fits {
			t.Errorf("%s: %q", key, reason)
		}
	}
}
