package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Survey looks at every record, and counts those under a version of the secret by judged state, and those that cannot be read,
// which may be under it. It pauses between steps: other commands come first. A record that is there all the time is
// counted, perhaps twice. It is an error if a server is replaced meanwhile.
//
// In a cluster a record can move from a server that is yet to be looked at to one that was; so where none is found,
// all are looked at a second time. That finds those which do not move again.
func (s *Store) Survey(ctx context.Context, version uint32) (counts store.Counts, unreadable int64, err error) {
	ctx, leave, err := s.enterForLong(ctx)
	if err != nil {
		return counts, 0, err
	}
	defer leave()
	for range 2 {
		counts, unreadable, err = s.survey(ctx, version)
		if err != nil || len(counts.States) > 0 || unreadable > 0 || !s.dialer.crowd.cluster {
			break
		}
	}
	return counts, unreadable, s.dialer.crowd.blame(err)
}

func (s *Store) survey(ctx context.Context, version uint32) (counts store.Counts, unreadable int64, err error) {
	counts.States = map[machine.State]int64{}
	if counts.At, err = s.now(ctx); err != nil {
		return counts, 0, err
	}
	sc, err := s.newScan(ctx)
	for err == nil && !sc.done() {
		started := time.Now()
		var found []glance
		if found, err = s.surveyStep(ctx, &sc); err != nil {
			break
		}
		for i := range found {
			switch state := found[i].state(); {
			case found[i].damaged:
				unreadable++
			case state != machine.Absent && found[i].record.Scope.SecretVersion == version:
				counts.States[state]++
			}
		}
		if !pause(ctx, restFactor*time.Since(started)) {
			err = store.Unavailable(fmt.Errorf("the survey was ended: %w", context.Cause(ctx)))
		}
	}
	if err == nil {
		err = sc.unchanged(ctx)
	}
	return counts, unreadable, err
}

func (s *Store) surveyStep(ctx context.Context, sc *scan) ([]glance, error) {
	digests, next, err := sc.peek(ctx, scanStep)
	if err != nil {
		return nil, err
	}
	glances, err := s.glance(ctx, digests, storedAs(nil)...)
	if err == nil {
		sc.advance(next)
	}
	return glances, err
}
