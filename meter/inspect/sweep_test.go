package inspect

import (
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// Keys whose names begin like the meter's and go on with what is no id are found like any that nobody expects, whatever is in them.
func TestSweepFindsNamesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	s := newSite(t, servicetest.Redis(t).Database(t))
	bucket := redisstore.Bucket("l:c")
	odd := []string{
		"daily_total_usage:" + bucket + ":c\x00:" + s.day.String(), "monthly_shared_usage:" + bucket + ":\xff:" + s.month.String(),
		"remaining_shared_amount:" + bucket + ":a b\n:" + s.month.String(), "version:" + bucket + ":l:\x00", "unit:", "policy:" + bucket + ":l:",
	}
	for _, key := range odd {
		s.must(s.redis.Do(t.Context(), s.redis.B().Set().Key(key).Value("1").Build()).Error())
	}
	var found []string
	if _, err := s.Sweep(t.Context(), func(d Difference) { found = append(found, d.Key) }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(odd)
	if slices.Sort(found); !slices.Equal(slices.Compact(found), odd) {
		t.Errorf("found %q, want %q", found, odd)
	}
}
