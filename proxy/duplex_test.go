package proxy

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/store/memstore"
)

// complaints are what a server says that nobody should have to read.
type complaints struct{ *testing.T }

func (c complaints) Write(p []byte) (int, error) {
	c.Errorf("the server says: %s", p)
	return len(p), nil
}

// An answer that comes before the body of its request has been read is whole, and says that it is the connection's last.
func TestAnswerBeforeTheBodysEnd(t *testing.T) {
	t.Parallel()
	early, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.Header().Set("Connection", "close")
		io.WriteString(w, "too much")
		_ = http.NewResponseController(w).Flush()
	})
	nobody := newRawServer(t, nil)
	nobody.listener.Close()
	for name, c := range map[string]struct {
		settings           Settings
		status             int
		head, begins, ends string
	}{
		"answered early":           {guarding(t, early), 200, "Content-Length: 10", "abcde", "fghij"},
		"answered early, chunked":  {guarding(t, early), 200, "Transfer-Encoding: chunked", "5\r\nabcde\r\n", "0\r\n\r\n"},
		"unreachable":              {guarding(t, nobody.url()), 502, "Content-Length: 5", "abcde", ""},
		"unreachable, chunked":     {guarding(t, nobody.url()), 502, "Transfer-Encoding: chunked", "5\r\nabcde\r\n0\r\n\r\n", ""},
		"unreachable, still comes": {guarding(t, nobody.url()), 502, "Content-Length: 10", "abcde", "fghij"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := New(t.Context(), memstore.New(nil), c.settings, nil)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(p)
			server.Config.ErrorLog = log.New(complaints{t}, "", 0)
			server.Start()
			t.Cleanup(server.Close)
			client, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			_ = client.SetDeadline(time.Now().Add(time.Minute)) // it would be waited for without end
			fmt.Fprintf(client, "POST /orders HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n%s", c.head, c.begins)
			reader := bufio.NewReader(client)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(response.Body); err != nil || response.StatusCode != c.status || !response.Close {
				t.Errorf("status %d, to be closed: %v, %v", response.StatusCode, response.Close, err)
			}
			io.WriteString(client, c.ends)
			if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
				t.Errorf("after the answer: %q, %v", rest, err)
			}
		})
	}
}
