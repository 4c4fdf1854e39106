//go:build unix

package servicetest_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// victim, if set, makes TestVictim start servers and wait to be killed.
const victim = "REPRISE_SERVICETEST_VICTIM"

func TestVictim(t *testing.T) {
	if os.Getenv(victim) == "" {
		t.Skip("only runs as a process of TestServersEndWithAKilledTestProcess")
	}
	paused := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	paused.Pause()
	redis := servicetest.NewRedis(t, servicetest.RedisOptions{})
	redis.Pause()
	for _, address := range []string{paused.Addr(), servicetest.Postgres(t).Addr(), redis.Addr(), servicetest.Redis(t).Addr()} {
		fmt.Println("server", address)
	}
	select {}
}

func TestServersEndWithAKilledTestProcess(t *testing.T) {
	t.Parallel()
	tmp, err := os.MkdirTemp("", "reprise-victim-") // not t.TempDir: that is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	// The keepers hold this pipe until they have cleaned up: its end is the event to wait for.
	done, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(os.Args[0], "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), victim+"=1", "TMPDIR="+tmp, "REPRISE_TEST_POSTGRES=", "REPRISE_TEST_REDIS=")
	cmd.ExtraFiles = []*os.File{held}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held.Close()
	var servers []string
	for lines := bufio.NewScanner(output); len(servers) < 4 && lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "server "); ok {
			servers = append(servers, address)
		} else if strings.HasPrefix(lines.Text(), "--- ") {
			cmd.Wait()
			t.Skip("the servers were not started: ", lines.Text())
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	done.Read(make([]byte, 1))

	for _, address := range servers {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Error("a server survives its test process: ", address)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
