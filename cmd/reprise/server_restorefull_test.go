package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Redis has no room for all that is to be restored. The restore waits, says for what, and goes on when it was given more.
func TestRestoreIntoAFullRedis(t *testing.T) {
	t.Parallel()
	s := newRestoreSite(t, 500)
	whole := memoryUsed(s)
	s.server.FlushAll()
	empty := memoryUsed(s)
	s.server.Config("maxmemory", fmt.Sprint(empty+(whole-empty)*7/10))
	ended := make(chan said, 1)
	go func() { ended <- s.call(0, "start") }()
	eventually(t, "the status says that Redis is full", func() bool {
		_, text := s.ask("status")
		return strings.Contains(text, "give it more")
	})
	s.server.Config("maxmemory", "0")
	(<-ended).has("complete, verified, and the gate is open")
	s.call(0, "verify").has("all equal")
}

func memoryUsed(s *restoreSite) int {
	s.t.Helper()
	used, err := strconv.Atoi(s.server.Info()["used_memory"])
	if err != nil {
		s.t.Fatal(err)
	}
	return used
}
