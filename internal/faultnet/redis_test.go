package faultnet_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

// shop is a database of Redis, reached directly and through a proxy.
type shop struct {
	server *servicetest.RedisServer
	proxy  *faultnet.Proxy
	dsn    string // not through the proxy
	direct *servicetest.RedisConn
}

func newShop(t *testing.T) shop {
	t.Helper()
	server := servicetest.Redis(t)
	s := shop{server: server, proxy: faultnet.New(t, server.Addr(), faultnet.Redis()), dsn: server.Database(t)}
	s.direct = s.dial(t, s.dsn)
	return s
}

func (s shop) dial(t *testing.T, dsn string) *servicetest.RedisConn {
	t.Helper()
	conn, err := s.server.Dial(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// client connects through the proxy.
func (s shop) client(t *testing.T) *servicetest.RedisConn {
	t.Helper()
	conn := s.dial(t, s.proxy.Through(s.dsn))
	if n := s.proxy.Requests(); n != 0 {
		t.Errorf("logging in took %d requests, want 0", n)
	}
	return conn
}

// wantSold checks how often each of some things were sold, directly.
func (s shop) wantSold(t *testing.T, want ...any) {
	t.Helper()
	var got []any
	for i := range want {
		sold, err := s.direct.Do("GET", item(i+1))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, sold)
	}
	if !slices.Equal(got, want) {
		t.Errorf("sold: %v, want %v", got, want)
	}
}

func item(n int) string { return strings.Repeat("i", n) }

// sell are commands that count the first n things up.
func sell(n int) (commands [][]string) {
	for i := range n {
		commands = append(commands, []string{"INCR", item(i + 1)})
	}
	return commands
}

// send sends commands at once.
func send(t *testing.T, conn *servicetest.RedisConn, commands ...[]string) {
	t.Helper()
	if err := conn.Send(commands...); err != nil {
		t.Fatal(err)
	}
}

// receive takes replies until one does not come.
func receive(conn *servicetest.RedisConn, n int) (replies []any) {
	for range n {
		reply, err := conn.Receive()
		if err != nil {
			break
		}
		replies = append(replies, reply)
	}
	return replies
}

func TestTheRedisCommandOfAPipelineThatIsStruck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		fault faultnet.Fault
		sold  []any
	}{
		{"request lost", faultnet.RequestLost(), []any{"1", nil, nil}},
		{"request cut", faultnet.RequestCut(), []any{"1", nil, nil}},
		{"reply lost", faultnet.ReplyLost(), []any{"1", "1"}}, // what is behind it may be sold or not
		{"reply cut", faultnet.ReplyCut(), []any{"1", "1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			conn := s.client(t)
			s.proxy.SetPlan(faultnet.Nth(2, test.fault))
			closed := s.proxy.Next(faultnet.Is(faultnet.Closed))
			send(t, conn, sell(3)...)
			if replies := receive(conn, 3); len(replies) != 1 || replies[0] != int64(1) {
				t.Errorf("replies: %v, want one", replies)
			}
			<-closed
			s.wantSold(t, test.sold...)
			if n := s.proxy.Struck(); n != 1 {
				t.Errorf("%d faults have struck", n)
			}
		})
	}
}

func TestARedisTransactionIsStruckAsAWhole(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		fault faultnet.Fault
		sold  []any
	}{
		{"request lost", faultnet.RequestLost(), []any{"1", nil, nil}},
		{"request cut", faultnet.RequestCut(), []any{"1", nil, nil}},
		{"reply lost", faultnet.ReplyLost(), []any{"2", "1", "1"}},
		{"reply cut", faultnet.ReplyCut(), []any{"2", "1", "1"}},
	} {
		for _, atOnce := range []bool{true, false} {
			name := test.name + ", command by command"
			if atOnce {
				name = test.name + ", at once"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newShop(t)
				conn := s.client(t)
				s.proxy.SetPlan(faultnet.First("iii", test.fault))
				commands := slices.Concat(sell(1), [][]string{{"MULTI"}}, sell(3), [][]string{{"EXEC"}})
				if atOnce {
					send(t, conn, commands...)
				} else {
					for _, command := range commands[:len(commands)-1] {
						if _, err := conn.Do(command...); err != nil {
							t.Fatalf("%v: %v", command, err)
						}
					}
					send(t, conn, []string{"EXEC"})
				}
				for reply, err := conn.Receive(); err == nil; reply, err = conn.Receive() {
					if _, executed := reply.([]any); executed {
						t.Errorf("the client was told: %v", reply)
					}
				}
				s.wantSold(t, test.sold...)
				if requests, struck := s.proxy.Requests(), s.proxy.Struck(); requests != 2 || struck != 1 {
					t.Errorf("%d requests and %d faults, want 2 and 1", requests, struck)
				}
			})
		}
	}
}

func TestARedisCommandThatArrivesAfterItsCallerGaveUp(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	conn := s.client(t)
	release := make(chan struct{})
	s.proxy.SetPlan(faultnet.Nth(2, faultnet.HeldUntil(release)))
	struck := s.proxy.Next(faultnet.Is(faultnet.Struck))
	send(t, conn, sell(2)...)
	<-struck
	conn.Close()
	s.wantSold(t, "1", nil)
	answered := s.proxy.Next(func(e faultnet.Event) bool {
		return e.Kind == faultnet.Answered && e.N == 2 || e.Kind == faultnet.Closed
	})
	close(release)
	<-answered
	s.wantSold(t, "1", "1")
}

func TestARedisReplyThatWaits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	conn := s.client(t)
	release := make(chan struct{})
	s.proxy.SetPlan(faultnet.Nth(2, faultnet.AnsweredAfter(release)))
	struck := s.proxy.Next(faultnet.Is(faultnet.Struck))
	send(t, conn, sell(3)...)
	if replies := receive(conn, 1); len(replies) != 1 {
		t.Fatal("the reply before it does not come")
	}
	<-struck
	s.wantSold(t, "1", "1")
	close(release)
	if replies := receive(conn, 2); len(replies) != 2 {
		t.Errorf("replies: %v", replies)
	}
}

func TestARedisConnectionThatHangs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	conn := s.client(t)
	s.proxy.SetPlan(faultnet.Nth(2, faultnet.ReplyLost().Hanging()))
	struck, closed := s.proxy.Next(faultnet.Is(faultnet.Struck)), s.proxy.Next(faultnet.Is(faultnet.Closed))
	send(t, conn, sell(2)...)
	receive(conn, 1)
	<-struck
	send(t, conn, sell(3)...) // swallowed
	s.wantSold(t, "1", "1", nil)
	select {
	case <-closed:
		t.Fatal("the connection was closed")
	default:
	}
	conn.Close()
	<-closed
	s.wantSold(t, "1", "1", nil)
}

func TestLargeRedisValuesPass(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	conn := s.client(t)
	large := strings.Repeat("\r\n$-1\r\n*", 1<<20)
	if _, err := conn.Do("SET", "large", large); err != nil {
		t.Fatal(err)
	}
	if got, err := conn.Do("GET", "large"); got != large || err != nil {
		t.Errorf("%v, or another value", err)
	}
	if n := s.proxy.Requests(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestRedisInvalidationsPassWithoutARequest(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	conn := s.client(t)
	key := "i in " + s.dsn // invalidations are those of all databases
	for _, command := range [][]string{{"HELLO", "3"}, {"CLIENT", "TRACKING", "ON"}} {
		if _, err := conn.Do(command...); err != nil {
			t.Fatal(err)
		}
	}
	s.proxy.SetPlan(faultnet.Nth(3, faultnet.ReplyLost()))
	if _, err := conn.Do("GET", key); err != nil {
		t.Fatal(err)
	}
	if _, err := s.direct.Do("INCR", key); err != nil {
		t.Fatal(err)
	}
	push, err := conn.Receive()
	if said, _ := push.([]any); err != nil || len(said) != 2 || said[0] != "invalidate" {
		t.Fatalf("got %v and %v", push, err)
	}
	if got, err := conn.Do("GET", key); got != "1" || err != nil {
		t.Errorf("got %v and %v", got, err)
	}
	if got, err := conn.Do("INCR", key); err == nil {
		t.Errorf("the third was answered: %v", got)
	}
	if sold, err := s.direct.Do("GET", key); sold != "2" || err != nil {
		t.Errorf("sold: %v, %v", sold, err)
	}
}

func TestRedisMessagesPassWithoutARequest(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"2", "3"} {
		t.Run("RESP"+protocol, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			conn := s.client(t)
			if _, err := conn.Do("HELLO", protocol); err != nil {
				t.Fatal(err)
			}
			channel := "sold in " + s.dsn // channels are those of all databases
			s.proxy.SetPlan(faultnet.Nth(2, faultnet.RequestLost()))
			send(t, conn, []string{"SUBSCRIBE", channel, channel + " too"})
			receive(conn, 2)
			if _, err := s.direct.Do("PUBLISH", channel, "tea"); err != nil {
				t.Fatal(err)
			}
			if got := receive(conn, 1); len(got) != 1 || got[0].([]any)[2] != "tea" {
				t.Errorf("got %v", got)
			}
			send(t, conn, []string{"UNSUBSCRIBE"})
			if got := receive(conn, 1); len(got) != 0 {
				t.Errorf("the second was answered: %v", got)
			}
			if n := s.proxy.Requests(); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
		})
	}
}

func TestEncryptedRedisConnectionsPass(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing, TLS: true})
	proxy := faultnet.New(t, server.Addr(), faultnet.Redis())
	conn, err := server.Dial(proxy.Through(server.DSN(0)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Do("GET", "i"); err != nil {
		t.Error(err)
	}
	if n := proxy.Requests(); n != 0 {
		t.Errorf("%d requests were told apart in what is encrypted", n)
	}
}

func TestARedisReplicaBehindABlackHoleLosesWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	master := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	proxy := faultnet.New(t, master.Addr(), faultnet.Redis())
	master.Do("SET", "i", "1")
	replica := master.ReplicaThrough(proxy.Addr())
	proxy.BlackHole()
	master.Do("SET", "i", "2")
	master.Kill()
	replica.Promote()
	if got := replica.Do("GET", "i"); got != "1" {
		t.Errorf("the replica has %v", got)
	}
}
