//go:build unix

package servicetest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// postgresTemplateBytes is more than the template takes, and than the server writes without being used.
const postgresTemplateBytes = 64 << 20

// initArguments make a cluster of databases whose order is that of bytes and whose messages are English.
var initArguments = []string{"--username=" + postgresAdmin, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-instructions"}

// postgresTemplate holds data/, with both roles, and the file password. The password differs from machine
// to machine: whoever knows it can run commands as the user of the tests.
func postgresTemplate(program string, a account) template {
	version, err := exec.Command(program, "--version").Output()
	fill := func(path string) error {
		if err != nil {
			return err
		}
		password, passwordFile := rand.Text(), filepath.Join(path, "password")
		if err := errors.Join(os.WriteFile(passwordFile, []byte(password), 0o600), a.own(passwordFile)); err != nil {
			return err
		}
		data := filepath.Join(path, "data")
		arguments := append([]string{"--pgdata=" + data, "--pwfile=" + passwordFile}, initArguments...)
		if err := a.run(filepath.Join(filepath.Dir(program), "initdb"), arguments...); err != nil {
			return err
		}
		role := fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", postgresUser, password)
		return a.run("/bin/sh", "-c", `printf '%s\n' "$1" | "$2" --single -j -D "$3" postgres`, "sh", role, program, data)
	}
	key := program + "\n" + string(version) + strings.Join(initArguments, "\n")
	return template{kind: "postgres", key: key, account: a, fill: fill}
}

// removeSharedMemory removes the segment by which a server shows that it uses its data folder. It
// survives a server that was killed, until one is started on the same folder.
func removeSharedMemory(data string) error {
	content, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return nil // ended in an orderly way, or never started
	}
	lines := bytes.Split(content, []byte("\n"))
	if len(lines) < 7 {
		return nil // did not come so far
	}
	words := bytes.Fields(lines[6]) // a key and an id
	if len(words) != 2 {
		return nil
	}
	id, err := strconv.Atoi(string(words[1]))
	if err != nil {
		return fmt.Errorf("postmaster.pid: %w", err)
	}
	if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) {
		return fmt.Errorf("remove shared memory %d: %w", id, err)
	}
	return nil
}
