// Package api is the HTTP API by which other programs do what the command line does for an operator. So far it has restores:
// /v1/restores begins one and goes on with one that stopped, and says how far it is.
//
// It is asynchronous: beginning a restore answers 202 at once, with the address where its progress is.
package api
