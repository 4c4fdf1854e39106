//go:build unix

package servicetest

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

//go:embed keeper.sh
var keeperScript string

// folder is the temporary folder of one server. A keeper removes it, and ends the server, if the test
// process ends before it does so itself.
type folder struct {
	path    string
	account account
	keeper  *exec.Cmd
	tell    io.WriteCloser
}

// newFolder makes a folder for a server of a kind. The signal is the one that ends such a server at once
// and lets it remove what it has outside of the folder.
func newFolder(kind string, signal string, a account) (*folder, error) {
	path, err := os.MkdirTemp("", "reprise-"+kind+"-")
	if err != nil {
		return nil, err
	}
	f := &folder{path: path, account: a}
	if err := errors.Join(a.own(path), f.startKeeper(signal)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return f, nil
}

func (f *folder) startKeeper(signal string) error {
	f.keeper = exec.Command("/bin/sh", "-c", keeperScript, "keeper", f.path, signal)
	f.keeper.Dir = "/"
	f.keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	tell, err := f.keeper.StdinPipe()
	if err != nil {
		return err
	}
	f.tell = tell
	return f.keeper.Start()
}

// watch tells the keeper which process the server is; 0 is none.
func (f *folder) watch(pid int) error {
	line := "\n"
	if pid != 0 {
		line = strconv.Itoa(pid) + "\n"
	}
	if _, err := io.WriteString(f.tell, line); err != nil {
		return fmt.Errorf("the keeper of %s is gone: %w", f.path, err)
	}
	return nil
}

// file writes a file that the server alone can read, and returns its path.
func (f *folder) file(name, content string) (string, error) {
	path := filepath.Join(f.path, name)
	return path, errors.Join(os.WriteFile(path, []byte(content), 0o600), f.account.own(path))
}

// remove removes the folder, and ends the server if there is still one.
func (f *folder) remove() error {
	err := f.tell.Close()
	// What the keeper's commands return does not matter: the folder is gone or it is not.
	_ = f.keeper.Wait()
	if _, gone := os.Lstat(f.path); gone == nil {
		err = errors.Join(err, fmt.Errorf("%s could not be removed", f.path))
	}
	return err
}
