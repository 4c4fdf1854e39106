package meterredis

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// A server that says when a key expires and one that only says how long it stays tell the same of all kinds of keys.
func TestContents(t *testing.T) {
	t.Parallel()
	m := newMeter(t, servicetest.Redis(t).Database(t))
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	b := m.client.B()
	for _, reply := range m.client.DoMulti(t.Context(),
		b.Set().Key("text").Value("1").Build(),
		b.Set().Key("text that expires").Value("2").PxatMillisecondsTimestamp(at.UnixMilli()).Build(),
		b.Hset().Key("hash").FieldValue().FieldValue("a", "b").Build(),
		b.Lpush().Key("list").Element("x").Build(),
		b.Set().Key("surprise").Value("3").Build(),
	) {
		if err := reply.Error(); err != nil {
			t.Fatal(err)
		}
	}
	wanted := []Wanted{
		{"text", TypeString}, {"text that expires", TypeString}, {"hash", TypeHash}, {"list", TypeHash}, {"nothing", TypeString},
		{"absent", TypeNone}, {"surprise", TypeNone},
	}
	want := map[string]Content{
		"text": Text("1", time.Time{}), "text that expires": Text("2", at), "hash": Hash(map[string]string{"a": "b"}, time.Time{}),
		"list": {Type: typeOther}, "nothing": {Type: TypeNone}, "absent": {Type: TypeNone}, "surprise": Text("3", time.Time{}),
	}
	same := cmp.Comparer(func(a, b Content) bool { return a.Same(b) || a.Type == typeOther && b.Type == typeOther })
	for _, m.timeLeft = range []bool{false, true} {
		found, err := m.Contents(t.Context(), wanted)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, found, same); diff != "" {
			t.Errorf("told how long keys stay: %v: %s", m.timeLeft, diff)
		}
		seen, _, err := m.Save(t.Context(), "text that expires", "")
		if saved := time.UnixMilli(seen.Expires); err != nil || saved.Sub(at).Abs() > expiryTolerance || !m.timeLeft && !saved.Equal(at) {
			t.Errorf("saved with %v, %v, want %v", saved, err, at)
		}
		if seen, _, err := m.Save(t.Context(), "text", ""); err != nil || seen.Expires != 0 {
			t.Errorf("%+v, %v", seen, err)
		}
	}
}
