package faulttest

import (
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
)

// Net returns the wire of a store whose handles connect to their server through a proxy. Each request that
// the proxy's framing tells apart is an I/O.
func Net(proxy *faultnet.Proxy) Wire {
	w := &network{proxy: proxy, release: make(chan struct{})}
	w.Break(0, 0)
	return w
}

type network struct {
	proxy *faultnet.Proxy

	release chan struct{}         // closed by Release
	through <-chan faultnet.Event // of the request that is held: the server has it
	silent  bool                  // a connection may hang
}

// Faults implements [Wire].
func (*network) Faults() []Fault {
	return []Fault{RequestLost, ReplyLost, RequestCut, ReplyCut, Silent, Held, Died, DiedAfter}
}

// Break implements [Wire].
func (w *network) Break(n int, fault Fault) {
	w.follow(breaking(n, fault))
	w.silent = fault == Silent
	if fault == Held && n > 0 {
		w.through = w.proxy.Next(arrived())
	}
}

// Storm implements [Wire].
func (w *network) Storm(seed uint64, oneOf int) {
	w.follow(storming(seed, oneOf, []Fault{RequestLost, ReplyLost, RequestCut, ReplyCut}))
}

func onNet(fault Fault, release <-chan struct{}) faultnet.Fault {
	switch fault {
	case RequestLost, Died:
		return faultnet.RequestLost()
	case RequestCut:
		return faultnet.RequestCut()
	case ReplyLost, DiedAfter:
		return faultnet.ReplyLost()
	case ReplyCut:
		return faultnet.ReplyCut()
	case Silent:
		return faultnet.ReplyLost().Hanging()
	case Held:
		return faultnet.HeldUntil(release)
	}
	return faultnet.Fault{}
}

func (w *network) follow(plan func(n int) Fault) {
	w.Release()
	release := make(chan struct{})
	w.release, w.through, w.silent = release, nil, false
	w.proxy.SetPlan(func(r faultnet.Request) faultnet.Fault { return onNet(plan(r.N), release) })
}

// arrived is the event that a request which was held has reached the server: it has answered, or the
// connection, whose client is gone, has ended.
func arrived() func(faultnet.Event) bool {
	struck := -1
	return func(e faultnet.Event) bool {
		if e.Kind == faultnet.Struck {
			struck = e.Conn
		}
		return e.Conn == struck && (e.Kind == faultnet.Answered || e.Kind == faultnet.Closed)
	}
}

// IOs implements [Wire].
func (w *network) IOs() int { return w.proxy.Requests() }

// Struck implements [Wire].
func (w *network) Struck() bool { return w.proxy.Struck() > 0 }

// Release implements [Wire].
func (w *network) Release() {
	select {
	case <-w.release:
		return
	default:
		close(w.release)
	}
	if w.silent && w.Struck() {
		w.proxy.CutAll() // what hangs would go on to hang
	}
	if w.through == nil || !w.Struck() {
		return
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-w.through:
	case <-late.C: // it will come when it comes
	}
}
