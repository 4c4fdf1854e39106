// Package config reads the configuration of `reprise proxy`.
//
// Each key is an entry of one table (keys_global.go, keys_route.go): its name, type, default, what it
// means and how it is set. `config print-default`, `config explain` and docs/configuration.md are printed
// from it (print.go), so they cannot say something else than the program does.
//
// A value comes from a flag, else from a REPRISE_* variable, else from the YAML file, else it is the
// default (load.go). Keys of routes that are set outside of a route are what its routes inherit. Every
// mistake is found before anything starts, and all are reported at once, each with its place and what
// to write instead (mistake.go).
package config

import (
	"net/url"
	"time"
)

// Config is a configuration without mistakes.
type Config struct {
	Listen       string // address, host may be empty
	Upstream     *url.URL
	Store        Store
	SecretFile   string // empty: the store's own, or REPRISE_SECRET
	AdminListen  string // empty: none
	DrainTimeout time.Duration
	// PurgeInterval is how often forgotten records are deleted. Zero: never.
	PurgeInterval time.Duration
	TLS           ServerTLS
	UpstreamTLS   ClientTLS
	// ClientHost sends the Host that the client sent, not the upstream's.
	ClientHost bool
	// TrustForwarded appends to the X-Forwarded-For of who sent the request.
	TrustForwarded bool
	JWT            JWT
	Log            Log
	// AcceptScopeChange is the mark of a change of routes that is accepted on reload.
	AcceptScopeChange string
	// Routes are as in the file, and at the end the one for every other path unless the file has it.
	Routes []Route
}

// Store says where the records are kept.
type Store struct {
	Primary  string // DSN
	Previous string // DSN of the store that records move from; empty: none
	// From is when new keys are made in Primary from; zero: as soon as can be.
	From time.Time
}

// ServerTLS is the listener's. Files, empty for none.
type ServerTLS struct{ Cert, Key, ClientCA string }

// ClientTLS is that of connections to the upstream. Files, empty for none.
type ClientTLS struct {
	CA, Cert, Key, ServerName string
	AcceptAny                 bool // any certificate
}

// JWT says how the tokens of the principal jwt:CLAIM are verified.
type JWT struct {
	JWKS, Issuer, Audience string
	Leeway                 time.Duration
}

// Log says how to log.
type Log struct {
	Format string // auto, text or json
	Level  string // debug, info, warn or error
}

// Route is a guarded part of the upstream.
type Route struct {
	Path      string // pattern of net/http.ServeMux, without method
	Methods   []string
	Operation string // empty: method and path of each request
	Key       string // optional, required or ignored
	Header    string
	Strict    bool
	Principal string

	Exclude        []string
	ExcludedBefore [][]string

	Lease, CommandTimeout, UpstreamTimeout        time.Duration
	ReplayWindow, Remember, RetryableFor, Horizon time.Duration
	PolicyRevision                                uint32
	Rerun                                         bool
	Wait                                          time.Duration // zero: duplicates are refused at once
	FailOpen                                      bool
	Final, NoEffect, Unknown                      []int
	Statuses                                      map[string]int
	MaxBody, MaxKept                              int64
}

// Ignored is the [Route.Key] of a route that is not guarded.
const Ignored = "ignored"

// Required is the [Route.Key] of a route whose requests must have a key.
const Required = "required"
