package faultnet_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
)

// echo starts a server that answers each line with the same line, and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// line sends a line and returns the answer.
func line(conn net.Conn, text string) (string, error) {
	if _, err := io.WriteString(conn, text+"\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

func dial(t *testing.T, p *faultnet.Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestThroughTheProxyAllIsAsWithout(t *testing.T) {
	t.Parallel()
	p := faultnet.New(t, echo(t), faultnet.Raw())
	conn := dial(t, p)
	for range 3 {
		if got, err := line(conn, "hello"); got != "hello\n" || err != nil {
			t.Fatalf("got %q and %v", got, err)
		}
	}
	if p.Requests() != 3 || p.Struck() != 0 {
		t.Errorf("%d requests, %d faults", p.Requests(), p.Struck())
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	p := faultnet.New(t, echo(t), faultnet.Raw())
	open := dial(t, p)
	if _, err := line(open, "before"); err != nil {
		t.Fatal(err)
	}
	p.Refuse()
	if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want a refusal", err)
	}
	if got, err := line(open, "hello"); got != "hello\n" || err != nil {
		t.Errorf("a connection that was open: %q and %v", got, err)
	}
	p.Restore()
	if got, err := line(dial(t, p), "hello"); got != "hello\n" || err != nil {
		t.Errorf("after it is restored: %q and %v", got, err)
	}
}

func TestWhatABlackHoleSwallowedArrivesAfterIt(t *testing.T) {
	t.Parallel()
	p := faultnet.New(t, echo(t), faultnet.Raw())
	open := dial(t, p)
	if _, err := line(open, "before"); err != nil {
		t.Fatal(err)
	}
	p.BlackHole()
	conns := []net.Conn{open, dial(t, p)}
	answers := make(chan string, len(conns))
	for _, conn := range conns {
		arrived := p.Next(faultnet.Is(faultnet.Arrived))
		go func() {
			got, _ := line(conn, "hello")
			answers <- got
		}()
		<-arrived
	}
	select {
	case got := <-answers:
		t.Fatalf("%q came out of a black hole", got)
	default:
	}
	p.Restore()
	for range conns {
		if got := <-answers; got != "hello\n" {
			t.Errorf("got %q", got)
		}
	}
}

func TestAProxyWithConnectionsInABlackHoleEnds(t *testing.T) {
	t.Parallel()
	t.Run("proxy", func(t *testing.T) {
		p := faultnet.New(t, echo(t), faultnet.Raw())
		p.BlackHole()
		arrived := p.Next(faultnet.Is(faultnet.Arrived))
		io.WriteString(dial(t, p), "hello\n")
		<-arrived
	})
}

func TestCutAllResets(t *testing.T) {
	t.Parallel()
	p := faultnet.New(t, echo(t), faultnet.Raw())
	conn := dial(t, p)
	if _, err := line(conn, "before"); err != nil {
		t.Fatal(err)
	}
	p.CutAll()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
}

func TestOnlyTheReplyWaits(t *testing.T) {
	t.Parallel()
	p := faultnet.New(t, echo(t), faultnet.Raw())
	release := make(chan struct{})
	p.SetPlan(faultnet.Nth(2, faultnet.AnsweredAfter(release)))
	conn := dial(t, p)
	if _, err := line(conn, "first"); err != nil {
		t.Fatal(err)
	}
	answered := p.Next(func(e faultnet.Event) bool { return e.Kind == faultnet.Answered && e.N == 2 })
	got := make(chan string, 1)
	go func() {
		answer, _ := line(conn, "second")
		got <- answer
	}()
	<-answered // by the server
	select {
	case answer := <-got:
		t.Fatalf("the client has %q too early", answer)
	default:
	}
	close(release)
	if answer := <-got; answer != "second\n" {
		t.Errorf("got %q", answer)
	}
}

func TestADelayIsNoLoss(t *testing.T) {
	t.Parallel()
	p := faultnet.New(t, echo(t), faultnet.Raw())
	p.SetPlan(faultnet.From(1, faultnet.Delayed(time.Millisecond)))
	if got, err := line(dial(t, p), "hello"); got != "hello\n" || err != nil || p.Struck() != 1 {
		t.Errorf("got %q and %v, %d faults", got, err, p.Struck())
	}
}

func TestARequestThatHangsIsNotAnsweredAndNotRefused(t *testing.T) {
	t.Parallel()
	p := faultnet.New(t, echo(t), faultnet.Raw())
	p.SetPlan(faultnet.Nth(1, faultnet.RequestLost().Hanging()))
	conn := dial(t, p)
	struck, closed := p.Next(faultnet.Is(faultnet.Struck)), p.Next(faultnet.Is(faultnet.Closed))
	io.WriteString(conn, "hello\n")
	<-struck
	io.WriteString(conn, "again\n") // swallowed, and no request any more
	select {
	case <-closed:
		t.Fatal("the connection was closed")
	default:
	}
	conn.Close()
	<-closed
	if p.Requests() != 1 {
		t.Errorf("%d requests, want 1", p.Requests())
	}
}

func TestAServerThatIsNotThereEndsConnections(t *testing.T) {
	t.Parallel()
	target := echo(t)
	nobody := faultnet.New(t, target, faultnet.Raw())
	nobody.Refuse() // an address that nobody listens on
	p := faultnet.New(t, nobody.Addr(), faultnet.Raw())
	if _, err := dial(t, p).Read(make([]byte, 1)); err == nil {
		t.Error("somebody answers")
	}
}
