package redisstore

import (
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// Whoever cannot connect is told the next step.
func TestConnectionsThatFailSayWhatToDo(t *testing.T) {
	t.Parallel()
	plain := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing, Users: map[string]string{"parts": "~* &* +@all -multi"}})
	secure := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing, TLS: true})
	changed := func(dsn string, change func(u *url.URL)) string {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		change(u)
		return u.String()
	}
	for name, c := range map[string]struct{ dsn, hint string }{
		"nobody there":   {changed(plain.DSN(0), func(u *url.URL) { u.Host = "127.0.0.1:1" }), "nobody listens there"},
		"unknown host":   {changed(plain.DSN(0), func(u *url.URL) { u.Host = "nobody.invalid:6379" }), "nobody.invalid in the DSN is not known"},
		"wrong password": {changed(plain.DSN(0), func(u *url.URL) { u.User = url.UserPassword("app", "another") }), "user or password is wrong"},
		"no password":    {changed(plain.DSN(0), func(u *url.URL) { u.User = nil }), "asks for a password"},
		"no rights":      {plain.UserDSN("parts", 0), "lacks a right"},
		"no database":    {changed(plain.DSN(0), func(u *url.URL) { u.Path = "/99999" }), "no such database"},
		"needless TLS":   {changed(plain.DSN(0), func(u *url.URL) { u.Scheme = "rediss" }), "does not speak TLS"},
		"missing TLS":    {changed(secure.DSN(0), func(u *url.URL) { u.Scheme = "redis" }), "write rediss in place of redis"},
		"no authority":   {changed(secure.DSN(0), func(u *url.URL) { u.RawQuery = "" }), "ca=FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(t.Context(), c.dsn, Options{})
			if err == nil {
				_ = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.hint) {
				t.Errorf("%v, want %q", err, c.hint)
			}
		})
	}
}

// A Redis that throws keys away when its memory is full is refused, unless the DSN names its policy.
func TestRedisThatForgetsForWantOfMemory(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing, Settings: map[string]string{"maxmemory-policy": "volatile-ttl"}})
	const hint = "the maxmemory-policy of this Redis is volatile-ttl"
	refused := func(err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%v, want %q", err, hint)
		}
	}
	refused(InitNew(t.Context(), server.DSN(0), Options{}))
	refused(InitNew(t.Context(), server.DSN(0)+"?eviction=allkeys-lru", Options{}))
	if size := server.Do("DBSIZE"); size != int64(0) {
		t.Errorf("%v keys were written", size)
	}
	d := databaseOn(t, server.DSN(0), "&eviction=volatile-ttl")
	d.open()
	dsn, _, _ := strings.Cut(d.dsn, "&")
	_, err := Open(t.Context(), dsn, d.options)
	refused(err)
	server.Config("maxmemory-policy", "noeviction")
	d.dsn = dsn
	d.open()
}

// A server that begins to throw keys away, or takes the place of one that did not, is told of loudly.
func TestForgettingIsLoggedOnEveryConnection(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(0))
	told := make(logged, 100)
	d.options.Log = slog.New(slog.NewTextHandler(told, nil))
	s := d.open()
	server.Config("maxmemory-policy", "allkeys-lru")
	server.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	eventually(t, func() error {
		_, err := s.Apply(t.Context(), newBegin())
		return err
	})
	if text := <-told; !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "allkeys-lru") {
		t.Errorf("logged %s", text)
	}
}

// logged are the lines of a log.
type logged chan string

func (l logged) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default: // more than anybody wants to see
	}
	return len(line), nil
}
