// Package faultstore breaks a store on purpose, for tests.
//
// What breaks is decided by a [Plan], for each command that is applied. The simplest proof with it is
// that every command fails once, before and after it took effect, and the truth stays the truth:
//
//	counting := faultstore.New(memstore.New(nil), nil)
//	work(counting)
//	for n := 1; n <= counting.Commands(); n++ {
//		for _, fault := range []faultstore.Fault{faultstore.Refused(), faultstore.Unsent(), faultstore.ReplyLost()} {
//			s := faultstore.New(memstore.New(nil), faultstore.Nth(n, fault))
//			work(s)
//			… what is true now? …
//		}
//	}
package faultstore
