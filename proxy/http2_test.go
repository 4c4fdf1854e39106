package proxy

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestHTTP2(t *testing.T) {
	t.Parallel()
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, r.Proto+string(body))
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	to, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := trusting(t, to)
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			for _, body := range []string{"", "x", strings.Repeat("x", 1<<17)} {
				if got, err := do(s, post(t, to, body)); err != nil || got != "HTTP/2.0"+body {
					t.Errorf("got %.20q, %v", got, err)
				}
			}
		})
	}
	callers.Wait()
}

// A refused stream was not processed, by the protocol's own word; anything else leaves it open. Neither
// is sent again.
func TestHTTP2Broken(t *testing.T) {
	t.Parallel()
	const (
		typeReset, typeGoAway           = 3, 7
		codeProtocol, codeRefusedStream = 1, 7
	)
	stream := binary.BigEndian.AppendUint32
	for name, test := range map[string]struct {
		sent  bool
		reply func(id uint32) []byte
	}{
		"refused stream": {false, func(id uint32) []byte { return frame(typeReset, id, stream(nil, codeRefusedStream)) }},
		"protocol error": {true, func(id uint32) []byte { return frame(typeReset, id, stream(nil, codeProtocol)) }},
		"going away":     {true, func(uint32) []byte { return frame(typeGoAway, 0, stream(stream(nil, 0), 0)) }},
		"closed":         {true, func(uint32) []byte { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, body := range []string{"", "x"} {
				var requests atomic.Int32
				to := rawHTTP2(t, &requests, test.reply)
				_, err := do(trusting(t, to), post(t, to, body))
				wantSent(t, err, test.sent)
				if n := requests.Load(); n != 1 {
					t.Errorf("%d requests arrived, want 1", n)
				}
			}
		})
	}
}

// trusting returns a sender that trusts any certificate.
func trusting(t *testing.T, to *url.URL) *sender {
	s := newTestSender(t, to, 0)
	s.pool.dialer = newDialer(&tls.Config{InsecureSkipVerify: true})
	return s
}

func frame(kind byte, stream uint32, payload []byte) []byte {
	head := []byte{0, 0, byte(len(payload)), kind, 0}
	return append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

// rawHTTP2 starts an upstream that answers each request with a frame. No frame: it closes.
func rawHTTP2(t *testing.T, requests *atomic.Int32, reply func(id uint32) []byte) *url.URL {
	t.Helper()
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	t.Cleanup(certificate.Close)
	config := &tls.Config{Certificates: certificate.TLS.Certificates, NextProtos: []string{protocolHTTP2}}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go serveHTTP2(c, requests, reply)
		}
	}()
	return &url.URL{Scheme: "https", Host: listener.Addr().String()}
}

func serveHTTP2(c net.Conn, requests *atomic.Int32, reply func(id uint32) []byte) {
	defer c.Close()
	const preface, typeHeaders, typeSettings = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 1, 4
	if _, err := io.ReadFull(c, make([]byte, len(preface))); err != nil {
		return
	}
	c.Write(frame(typeSettings, 0, nil))
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, c, length); err != nil {
			return
		}
		if head[3] != typeHeaders {
			continue
		}
		requests.Add(1)
		answer := reply(binary.BigEndian.Uint32(head[5:]))
		if answer == nil {
			return
		}
		c.Write(answer)
	}
}
