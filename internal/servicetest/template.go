//go:build unix

package servicetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// template is a folder that is made once on a machine, and copied for each server.
type template struct {
	// key says what the content depends on: versions, arguments.
	kind, key string
	account   account
	// fill makes the content in an empty folder that belongs to the account.
	fill func(path string) error
}

// copyTo copies the template to a path that does not exist yet, after making the template if needed.
func (tm template) copyTo(path string) error {
	made, err := tm.make()
	if err != nil {
		return err
	}
	return tm.account.run("cp", "-Rp", made, path)
}

// make returns the path of the template. Processes that need it at the same time wait for each other.
func (tm template) make() (string, error) {
	root, err := tm.root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, fmt.Sprintf("%s-%.8x", tm.kind, sha256.Sum256([]byte(tm.key))))
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close() // which ends the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	unfinished := path + ".unfinished"
	if err := errors.Join(os.RemoveAll(unfinished), os.Mkdir(unfinished, 0o700), tm.account.own(unfinished)); err != nil {
		return "", err
	}
	if err := tm.fill(unfinished); err != nil {
		return "", err
	}
	return path, os.Rename(unfinished, path)
}

// root returns the folder of all templates. It must not be one that others can write to: a template
// says what a server runs.
func (tm template) root() (string, error) {
	cache, err := "/var/cache", error(nil) // root's own is closed to the account
	if !tm.account.other {
		cache, err = os.UserCacheDir()
	}
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "reprise-servicetest")
	return root, os.MkdirAll(root, 0o755)
}

// run runs a command as the account, in the root folder.
func (a account) run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = a.attributes()
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, output)
	}
	return nil
}
