// Package faulttest is the suite of faults for all stores, through the whole guard: one call of [Run] from
// a store's test. What a store does when nothing goes wrong is tested by store/storetest.
//
// # What it does
//
//   - Every I/O fails once (everyio.go). A script of scenes (scenes.go) sends every command in every way
//     that the guard and its operators have. Each scene is played once without a fault, then with its first
//     I/O suffering one, its second, and so on. I/Os are whole commands for every store, and beside them what
//     lies on its [Wire]: messages of a network, reads and writes of a file.
//   - Troubles befall whole servers ([Trouble]) while callers are busy: they are killed, paused past a lease,
//     swallowed by the network, out of room, out of connections. The handles stay open all the time.
//   - Histories (random.go): clients send random commands, nearly right ones mostly, on a few keys, while I/Os
//     fail at random or troubles come and go.
//
// # What is judged
//
// Effects and answers are written down outside of the store (page.go). At the end of each run every key is
// asked for again, as a client does that was not told yet (audit.go):
//
//   - No action takes effect twice, or runs while another holds its key, unless the policy says that it may.
//   - An answer that was given is the answer of every later retry.
//   - Every call ends with an answer or an error that tells the truth. In particular, no error says that
//     nothing happened when something did, and a key is unknown only if nobody can know what came of it.
//   - Nobody waits for ever; a store works again when nothing goes wrong any more, without being opened anew.
//   - All that was asked of the store has an order in which [machine.Step] gives the very replies that it gave
//     (linear.go). A command in doubt happened at any time after it was sent, or never; one that was
//     unavailable did not happen.
//
// Three things are not held against a store. What was sent and not answered in time may be done later, when
// its caller has given it up: then a key can be unknown although nothing has run. A store that sends a command
// again by itself may have it done twice if the network holds the first. And one that has lost a reply answers
// as if the command had just been done, although an equal one may have been before it.
//
// # Plugging in a store
//
// A store on a server, whose protocol internal/faultnet can frame, takes a proxy and little else:
//
//	func TestFaults(t *testing.T) {
//		t.Parallel()
//		faulttest.Run(t, faulttest.Kind{
//			Open: func(t *testing.T) faulttest.Subject {
//				proxy := faultnet.New(t, server.Addr(), faultnet.Redis())
//				return faulttest.Subject{
//					Open:    func() (store.Store, error) { return mystore.Open(…, proxy.Through(dsn)) },
//					Aside:   func() (store.Store, error) { return mystore.Open(…, dsn) },
//					Advance: clock.Advance,
//					Wire:    faulttest.Net(proxy),
//				}
//			},
//			Harm: map[string]func(t *testing.T) (faulttest.Subject, []faulttest.Trouble){
//				"server": func(t *testing.T) (faulttest.Subject, []faulttest.Trouble) {
//					… a server of its own: faulttest.OfServer(server), faulttest.OfNet(proxy), and what only
//					this kind of server can suffer …
//				},
//			},
//			Refused: … ways to open the store that must be refused: a wrong password, TLS without its authority …
//		})
//	}
//
// A store on something else writes a [Wire] of its own around a [Plan]; store/sqlitestore has one below SQLite's
// file system. It tells by [Subject.Died] what a process finds that starts after one has died. A store without
// I/O of its own leaves Wire out: its commands fail all the same.
//
// # How long it takes
//
// In an ordinary run every other I/O suffers one fault, in turn. With REPRISE_PROVE=1 every I/O suffers every
// fault, and there are hundreds of histories. Each run says its seed; REPRISE_SEED=… takes it again, though
// what goroutines and servers do meanwhile is up to them.
package faulttest
