package main

import (
	"strings"
	"testing"
)

// refusals are what must not be done with two stores of a move.
func (m *moving) refusals() {
	t := m.t
	m.refuses(m.to, m.from, "wrong way round")
	code, out := refusal(t, m.from.environ, "proxy", "--listen", "127.0.0.1:0", "--upstream", m.upstream.URL, "--principal", "none")
	if code != exitFailed || !strings.Contains(out, "the store is moved") {
		t.Errorf("with the old store alone: exit code %d, %s", code, out)
	}
}

// refuses is a move that is refused, by the copy and by a proxy with both stores.
func (m *moving) refuses(from, to *site, why string) {
	t := m.t
	t.Helper()
	if c := copyOf(t, from, to); c.code != exitFailed || !strings.Contains(c.err, why) {
		t.Errorf("a copy, want %q: %+v", why, c)
	}
	code, out := refusal(t, []string{"REPRISE_SECRET_FILE=" + from.secret}, append([]string{"proxy", "--listen", "127.0.0.1:0"}, m.serving(to, from)...)...)
	if code != exitFailed || !strings.Contains(out, why) {
		t.Errorf("a proxy, want %q: exit code %d, %s", why, code, out)
	}
}

// Two stores that one cannot be moved to the other are refused, and nothing is written into either. Those that can are moved in
// spite of all that was tried before.
func TestStoresThatCannotBeMoved(t *testing.T) {
	t.Parallel()
	onMoves(t, func(m *moving) {
		t := m.t
		another := func(kind, secret string) *site { return newStoreUnder(t, newStores()[kind](t), secret) }
		m.start(m.from, nil).kill() // it tells a new file its secret
		all := m.from.answered(t, 20)
		full := another(m.kinds[1], m.from.secret)
		full.answered(t, 1)
		strange := another(m.kinds[1], newServerSite(t, "redis://nowhere").secret)

		m.refuses(m.to, m.from, "not empty")
		m.refuses(m.from, full, "not empty")
		m.refuses(m.from, strange, "another secret")
		if n, there := m.from.records(t), m.to.records(t); n != all || there != 0 || full.records(t) != 1 {
			t.Errorf("the source has %d of %d records, the target %d, the full one %d", n, all, there, full.records(t))
		}
		if c := m.copy(); c.code != exitDone || m.to.records(t) != all {
			t.Errorf("the source has %d records, the target %d: %+v", all, m.to.records(t), c)
		}
		m.refuses(m.to, m.from, "wrong way round")
		second := another(m.kinds[0], m.from.secret)
		m.start(second, nil).kill()
		m.refuses(second, m.to, "filled from another store")
		if n := m.to.records(t); n != all {
			t.Errorf("the target has %d records, and had %d", n, all)
		}
	})
}
