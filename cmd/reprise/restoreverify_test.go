package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/restore"
)

// What waited in an earlier round may have gone with Redis since, and is not said to wait; what was lost in any round is lost.
func TestEventsOfSeveralRounds(t *testing.T) {
	t.Parallel()
	e := foundEvents{wait: 1}
	for _, f := range []restore.Finding{
		{ID: 1, Item: "streams", Outcome: restore.Waiting}, {ID: 2, Item: "ev-1", Outcome: restore.Lost},
		{ID: 3, Item: "ev-1", Outcome: restore.Lost}, {ID: 4, Item: "inbox", Outcome: restore.Waiting},
	} {
		e.take(f)
	}
	ids := func(all []restore.Finding) (ids []int64) {
		for _, f := range all {
			ids = append(ids, f.ID)
		}
		return ids
	}
	if d := cmp.Diff([][]int64{{4}, {2}}, [][]int64{ids(e.waiting), ids(e.lost)}); d != "" {
		t.Error(d)
	}
	gone := foundEvents{}
	gone.take(restore.Finding{Item: "streams", Outcome: restore.Waiting})
	if len(gone.waiting) != 0 {
		t.Errorf("in the last round nothing waited: %v", gone.waiting)
	}
}
