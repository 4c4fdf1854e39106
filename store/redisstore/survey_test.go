package redisstore

import (
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A survey counts every record under a version of the secret, wherever it is.
func TestSurvey(t *testing.T) {
	t.Parallel()
	d := databaseOn(t, servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{}).DSN())
	s := d.open()
	d.answer(s, 200, "answer") // under version 1
	later := newBegin()
	later.Scope.SecretVersion = 2
	want(t, s, machine.Acquired, later)
	counts, unreadable, err := s.Survey(t.Context(), 1)
	if err != nil || unreadable != 0 || len(counts.States) != 1 || counts.States[machine.Completed] < 200 {
		t.Errorf("version 1: %+v, %d unreadable, %v", counts, unreadable, err)
	}
	counts, unreadable, err = s.Survey(t.Context(), 2)
	if err != nil || unreadable != 0 || len(counts.States) != 1 || counts.States[machine.Executing] != 1 {
		t.Errorf("version 2: %+v, %d unreadable, %v", counts, unreadable, err)
	}
	if counts, unreadable, err = s.Survey(t.Context(), 3); err != nil || unreadable != 0 || len(counts.States) != 0 {
		t.Errorf("version 3: %+v, %d unreadable, %v", counts, unreadable, err)
	}
	d.do("DEL", d.names.generation(7))
	if _, _, err := s.Survey(t.Context(), 3); !errors.Is(err, store.ErrLost) {
		t.Errorf("with a lost bucket: %v", err)
	}
}
