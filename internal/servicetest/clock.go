//go:build unix

package servicetest

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

//go:embed clock/clock.c
var clockSource string

// clock is a real-time clock for one server, which can be put forward while it runs.
type clock struct {
	library string // that the server is started with
	path    string // of the file that says how far ahead it is

	mu    sync.Mutex
	ahead time.Duration
}

// newClock makes a clock in the folder of a server.
func newClock(f *folder) (*clock, error) {
	if runtime.GOOS != "linux" {
		return nil, absence{why: "needs a server whose clock can be moved, which takes Linux", given: true}
	}
	compiler, err := program("cc")
	if err != nil {
		return nil, err
	}
	const name = "clock.so"
	made, err := template{kind: "clock", key: clockSource, account: f.account, fill: func(path string) error {
		source := filepath.Join(path, "clock.c")
		if err := os.WriteFile(source, []byte(clockSource), 0o600); err != nil {
			return err
		}
		output, err := exec.Command(compiler, "-O2", "-shared", "-fPIC", "-o", filepath.Join(path, name), source).CombinedOutput()
		if err != nil {
			return fmt.Errorf("compile the clock: %w\n%s", err, output)
		}
		return f.account.own(filepath.Join(path, name))
	}}.make()
	if err != nil {
		return nil, err
	}
	c := &clock{library: filepath.Join(made, name)}
	c.path, err = f.file("clock", string(make([]byte, 8)))
	return c, err
}

// environment are the arguments of env for a server that goes by the clock.
func (c *clock) environment() []string {
	return []string{"LD_PRELOAD=" + c.library, "SERVICETEST_CLOCK=" + c.path}
}

// advance puts the clock forward, at once.
func (c *clock) advance(by time.Duration) error {
	if c == nil {
		return errors.New("its clock cannot be moved: set Clock in its options")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	file, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	c.ahead += by
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(c.ahead.Microseconds())), 0)
	return errors.Join(err, file.Close())
}
