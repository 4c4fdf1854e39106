// Package faultnet is a network that fails on purpose, for tests: a TCP proxy between a store and its
// server.
//
// It tells messages apart ([Postgres], [MySQL], [Redis]), so that a fault strikes exactly one of them, before the
// server saw it or after the server has answered:
//
//	proxy := faultnet.New(t, server.Addr(), faultnet.Postgres())
//	store := open(proxy.Through(dsn))
//	proxy.SetPlan(faultnet.First("commit", faultnet.ReplyLost()))
//	… the store must now say that it does not know, and the truth is that it was committed …
//
// What breaks is decided by a [Plan], for each message of a client. All connections at once are broken
// by [Proxy.CutAll], [Proxy.Refuse] and [Proxy.BlackHole].
//
// A test waits for what happens with [Proxy.Next], never for time to pass.
package faultnet
