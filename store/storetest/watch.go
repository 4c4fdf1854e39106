package storetest

import (
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// runWatch waits for changes. A watch may wake for nothing, so it is only tested that it does wake.
func runWatch(d *database) {
	watcher, ok := store.As[store.Watcher](d.store)
	if !ok {
		d.Skip("the store does not watch")
	}
	c := newCaller(d.scope("watch"), "holder")
	d.woken("an absent record", watcher, c.claim.Scope, 5, func() {})
	executing(d, c)
	d.woken("another revision", watcher, c.claim.Scope, c.hold.Revision+1, func() {})
	d.woken("a renewal", watcher, c.claim.Scope, c.hold.Revision, func() { c.learn(d.expect(machine.Renewed, c.renew())) })
	d.woken("a completion", watcher, c.claim.Scope, c.hold.Revision, func() {
		// A watch that was stopped is gone, and two on one record both wake.
		_, stop := watcher.Watch(c.claim.Scope, c.hold.Revision)
		stop()
		second, stopSecond := watcher.Watch(c.claim.Scope, c.hold.Revision)
		defer stopSecond()
		c.learn(d.expect(machine.CompletedNow, c.complete()))
		d.await("a second watch", second)
	})
	released := newCaller(d.scope("watch released"), "holder")
	claimed(d, released)
	d.woken("a release", watcher, released.claim.Scope, released.hold.Revision, func() { d.expect(machine.Released, released.release()) })
}

// woken watches a record, changes it and waits to be woken.
func (d *database) woken(why string, watcher store.Watcher, scope machine.Scope, revision uint64, change func()) {
	d.Helper()
	changed, stop := watcher.Watch(scope, revision)
	defer stop()
	change()
	d.await(why, changed)
}

func (d *database) await(why string, changed <-chan struct{}) {
	d.Helper()
	d.Logf("waiting to be woken by %s", why) // says where it hangs
	<-changed
}
