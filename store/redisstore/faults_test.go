package redisstore

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/faulttest"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store"
)

// Every database is a server of its own: the clock that the suite moves is the server's.
func TestFaults(t *testing.T) {
	t.Parallel()
	faulttest.Run(t, faulttest.Kind{
		Open: func(t *testing.T) faulttest.Subject {
			server := servicetest.NewRedis(t, servicetest.RedisOptions{Clock: true, Persistence: servicetest.PersistNothing})
			subject, _ := newSubject(t, server)
			return subject
		},
		Harm: map[string]func(t *testing.T) (faulttest.Subject, []faulttest.Trouble){
			"server": func(t *testing.T) (faulttest.Subject, []faulttest.Trouble) {
				server := servicetest.NewRedis(t, servicetest.RedisOptions{Clock: true})
				subject, proxy := newSubject(t, server)
				troubles := append(onceAccepted(t, server.DSN(0), faulttest.OfServer(server)), faulttest.OfNet(proxy)...)
				troubles = append(troubles, onceAccepted(t, server.DSN(0), []faulttest.Trouble{ofReplica(t, server)})...)
				return subject, append(troubles, ofRedis(t, server)...)
			},
			"disk": func(t *testing.T) (faulttest.Subject, []faulttest.Trouble) {
				server := servicetest.NewRedis(t, servicetest.RedisOptions{
					Clock: true, Persistence: servicetest.PersistEverySecond, DiskBytes: 64 << 20,
					Settings: map[string]string{"save": "3600 1"},
				})
				subject, _ := newSubject(t, server)
				return subject, append(faulttest.OfDisk(server), ofSnapshots(t, server))
			},
		},
		Refused: mistrusted,
	})
}

// newSubject is a store on a server whose clock can be moved. Its handles go through a proxy.
func newSubject(t *testing.T, server *servicetest.RedisServer) (faulttest.Subject, *faultnet.Proxy) {
	t.Helper()
	dsn := server.DSN(0)
	if err := InitNew(t.Context(), dsn, Options{}); err != nil {
		t.Fatal(err)
	}
	proxy := faultnet.New(t, server.Addr(), faultnet.Redis())
	open := func(dsn string) func() (store.Store, error) {
		return func() (store.Store, error) { return Open(t.Context(), dsn, Options{}) }
	}
	return faulttest.Subject{
		Open: open(proxy.Through(dsn)), Aside: open(dsn), Advance: server.Advance, Wire: faulttest.Net(proxy), Fades: true, Loses: true,
	}, proxy
}

// onceAccepted are troubles after which the server is not taken for the one that it was, until an operator accepts it. It
// has lost nothing.
func onceAccepted(t *testing.T, dsn string, troubles []faulttest.Trouble) []faulttest.Trouble {
	for i, trouble := range troubles {
		if trouble.Mute {
			continue
		}
		troubles[i].End = func() {
			trouble.End()
			if _, err := AcceptLoss(context.WithoutCancel(t.Context()), dsn, "operator", "its log has everything", Options{}); err != nil {
				t.Errorf("accept: %v", err)
			}
		}
	}
	return troubles
}

// ofReplica is the trouble of a primary that is made a replica, and a primary again.
func ofReplica(t *testing.T, server *servicetest.RedisServer) faulttest.Trouble {
	return ofAdmin(t, server, "a replica of nobody", []string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"})
}

// ofRedis are troubles that an administrator makes.
func ofRedis(t *testing.T, server *servicetest.RedisServer) []faulttest.Trouble {
	dsn, _ := url.Parse(server.DSN(0)) // was parsed before
	password, _ := dsn.User.Password()
	return []faulttest.Trouble{
		ofMemory(t, server),
		ofAdmin(t, server, "no connection left", []string{"CONFIG", "SET", "maxclients", "1"}, []string{"CONFIG", "SET", "maxclients", "1000"}),
		ofAdmin(t, server, "another password", []string{"ACL", "SETUSER", "app", "resetpass", ">another"}, []string{"ACL", "SETUSER", "app", "resetpass", ">" + password}),
		ofAdmin(t, server, "a right is taken", []string{"ACL", "SETUSER", "app", "-@write"}, []string{"ACL", "SETUSER", "app", "+@write"}),
	}
}

func ofMemory(t *testing.T, server *servicetest.RedisServer) faulttest.Trouble {
	return ofAdmin(t, server, "no memory left", []string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"})
}

// ofAdmin is a trouble that an administrator makes and ends by a command. Connections that are open end with each.
func ofAdmin(t *testing.T, server *servicetest.RedisServer, name string, begin, end []string) faulttest.Trouble {
	var admin *servicetest.RedisConn // stays: there may be no other one
	do := func(command []string) {
		for _, words := range [][]string{command, {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}} {
			if _, err := admin.Do(words...); err != nil {
				t.Errorf("%v: %v", words, err)
			}
		}
	}
	return faulttest.Trouble{Name: name, Begin: func() {
		var err error
		if admin, err = server.Dial(server.AdminDSN(0)); err != nil {
			t.Fatal(err)
		}
		do(begin)
	}, End: func() {
		do(end)
		if err := admin.Close(); err != nil {
			t.Error(err)
		}
	}}
}

// ofSnapshots is the trouble of a server that could not write its last snapshot: it refuses writes.
func ofSnapshots(t *testing.T, server *servicetest.RedisServer) faulttest.Trouble {
	save := func(status string) {
		server.Do("BGSAVE")
		eventually(t, func() error {
			if info := server.Info(); info["rdb_bgsave_in_progress"] != "0" || info["rdb_last_bgsave_status"] != status {
				return fmt.Errorf("snapshots: %s", info["rdb_last_bgsave_status"])
			}
			return nil
		})
	}
	return faulttest.Trouble{
		Name:  "no snapshot",
		Begin: func() { server.FillDisk(); save("err") },
		End:   func() { server.FreeDisk(); save("ok") },
	}
}

// mistrusted are ways to connect that a server which wants TLS refuses, or is not to be trusted with.
func mistrusted(t *testing.T) map[string]func(context.Context) (store.Store, error) {
	server, other := servicetest.NewRedis(t, servicetest.RedisOptions{TLS: true}), servicetest.NewRedis(t, servicetest.RedisOptions{TLS: true})
	plain, err := url.Parse(server.DSN(0))
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(u *url.URL), ca string) string {
		u := *plain
		change(&u)
		if ca != "" {
			u.RawQuery = url.Values{"ca": {ca}}.Encode()
		}
		return u.String()
	}
	right := with(func(*url.URL) {}, server.CA())
	if err := InitNew(t.Context(), right, Options{}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), right, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ways := map[string]func(context.Context) (store.Store, error){}
	for name, dsn := range map[string]string{
		"without TLS":       with(func(u *url.URL) { u.Scheme = "redis" }, ""),
		"another authority": with(func(*url.URL) {}, other.CA()),
		"wrong password":    with(func(u *url.URL) { u.User = url.UserPassword("app", "wrong") }, server.CA()),
	} {
		ways[name] = func(ctx context.Context) (store.Store, error) { return Open(ctx, dsn, Options{}) }
	}
	return ways
}
