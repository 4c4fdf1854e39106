package restore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/store"
)

// A verification alone finds what is wrong and changes nothing; with corrections it puts right and keeps what was there; undone, everything
// is as it was. What has changed since is left.
func testCheck(t *testing.T, s server) {
	w := newWorld(t, s)
	p, sessions := newToy("toy", 35, 10), w.sessions()
	r := New(sessions, p, options("one"))
	w.start(r)
	w.work(r)
	for _, name := range []string{"u00003", "u00004", "u00021"} {
		p.target.units[name].value = 5
	}
	got, err := r.Check(t.Context(), CheckRequest{})
	if err != nil || got.Findings[Different] != 3 || got.Targets != 4 || got.Units != 35 || got.Session != 0 || p.target.units["u00003"].value != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := sessions.Last(t.Context(), checkName("toy")); !errors.Is(err, ErrNone) {
		t.Errorf("a verification without corrections has written: %v", err)
	}
	told := 0
	request := CheckRequest{Who: "ann", Why: "test", Correct: true, Found: func(Finding) { told++ }}
	got, err = r.Check(t.Context(), request)
	if err != nil || len(got.Findings) != 1 || got.Findings[Corrected] != 3 || told != 3 || got.Session == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if again, err := r.Check(t.Context(), request); err != nil || len(again.Findings) != 0 {
		t.Errorf("verified again: %+v, %v", again, err)
	}
	if last, err := sessions.Last(t.Context(), "toy"); err != nil || last.ID == got.Session || last.State != Finished {
		t.Errorf("the last restore is %+v, %v", last, err)
	}
	for _, c := range []struct {
		name, digest string
		want         error
	}{{"another", "d1", ErrNone}, {"toy", "d2", ErrOtherPlan}} { // in the same system, and of the same generation
		other := *p
		other.name, other.digest = c.name, c.digest
		if undone, left, err := New(sessions, &other, options("two")).Undo(t.Context(), got.Session, func(Finding) {}); !errors.Is(err, c.want) || undone+left > 0 {
			t.Errorf("by %s of %s: undone %d, left %d, %v", c.name, c.digest, undone, left, err)
		}
	}
	p.target.units["u00004"].value = 112
	undone, left, err := r.Undo(t.Context(), got.Session, func(Finding) {})
	if err != nil || undone != 2 || left != 1 || p.target.units["u00003"].value != 5 || p.target.units["u00004"].value != 112 {
		t.Errorf("undone %d, left %d, %v", undone, left, err)
	}
	if undone, left, err = r.Undo(t.Context(), got.Session, func(Finding) {}); err != nil || undone != 0 || left != 1 {
		t.Errorf("undone again: %d, left %d, %v", undone, left, err)
	}
	p.target.wipe()
	if _, err := r.Check(t.Context(), CheckRequest{}); !errors.Is(err, store.ErrLost) {
		t.Errorf("a system that was lost: %v", err)
	}
	_, _, err = r.Start(t.Context(), Request{Who: "ann", Why: "again"})
	w.must(err)
	p.target.generation = "x"
	if _, err := r.Check(t.Context(), request); !errors.Is(err, ErrRunning) {
		t.Errorf("corrections beside a restore: %v", err)
	}
}

// A verification whose process died keeps nobody from the next one, also if that has another configuration: nothing of it is gone on with. One that
// lives does.
func testCheckAfterADeadOne(t *testing.T, s server) {
	w := newWorld(t, s)
	p, sessions := newToy("toy", 35, 10), w.sessions()
	r := New(sessions, p, options("one"))
	w.start(r)
	v := w.work(r)
	request := CheckRequest{Who: "ann", Why: "test", Correct: true}
	dead := &check{Runner: r, request: request, fence: Fence{Generation: v.Generation}}
	l, err := dead.alone(t.Context(), p.Describe())
	w.must(err)
	p.digest = "d2"
	other := New(w.sessions(), p, options("two"))
	if _, err := other.Check(t.Context(), request); !errors.Is(err, ErrRunning) {
		t.Errorf("beside one that lives: %v", err)
	}
	w.expire()
	p.target.units["u00003"].value = 5
	if got, err := other.Check(t.Context(), request); err != nil || got.Findings[Corrected] != 1 || got.Session == l.session {
		t.Errorf("after one that died: %+v, %v", got, err)
	}
	if ended, err := sessions.Session(t.Context(), l.session); err != nil || ended.State != Cancelled {
		t.Errorf("the one that died is %+v, %v", ended, err)
	}
}

// unanswered is a plan whose corrections are not answered, made or not.
type unanswered struct {
	*toy
	made bool
}

func (p *unanswered) Correct(ctx context.Context, found Finding, f Fence, keep Keep) (Correction, error) {
	if !p.made {
		return Correction{}, errors.Join(keep(ctx, []byte(found.Detail)), store.ErrIndeterminate)
	}
	_, err := p.toy.Correct(ctx, found, f, keep)
	return Correction{}, errors.Join(err, store.ErrIndeterminate)
}

// A verification that ended between a correction and the note of it has corrected: that is undone like any other. Where nothing was
// corrected nothing is undone, and nothing is left. While it goes on correcting nothing is undone.
func testUndoOfWhatWasNotNoted(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 35, 10)
	r := New(w.sessions(), p, options("one"))
	w.start(r)
	v := w.work(r)
	request := CheckRequest{Who: "ann", Why: "test", Correct: true}
	for _, made := range []bool{false, true} {
		p.target.units["u00003"].value = 5
		got, err := New(w.sessions(), &unanswered{p, made}, options("two")).Check(t.Context(), request)
		if !errors.Is(err, store.ErrIndeterminate) {
			t.Fatalf("%+v, %v", got, err)
		}
		told := int64(0)
		undone, left, err := r.Undo(t.Context(), 0, func(Finding) { told++ })
		if want := map[bool]int64{true: 1}[made]; err != nil || undone != want || told != want || left != 0 || p.target.units["u00003"].value != 5 {
			t.Errorf("made %v: undone %d, left %d, told %d, %v, and it is %d", made, undone, left, told, err, p.target.units["u00003"].value)
		}
		if undone, left, err = r.Undo(t.Context(), got.Session, func(Finding) {}); err != nil || undone+left != 0 {
			t.Errorf("made %v, again: undone %d, left %d, %v", made, undone, left, err)
		}
	}
	live := &check{Runner: r, request: request, fence: Fence{Generation: v.Generation}}
	_, err := live.alone(t.Context(), p.Describe())
	w.must(err)
	if _, _, err := r.Undo(t.Context(), 0, func(Finding) {}); !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), "wait for its end") {
		t.Errorf("beside one that corrects: %v", err)
	}
}
