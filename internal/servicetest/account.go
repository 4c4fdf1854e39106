//go:build unix

package servicetest

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user that servers run as. Some refuse to be root, and none should be.
type account struct {
	uid, gid int
	// other is set when the user is not the one that runs the tests.
	other bool
}

// unprivileged returns the account that servers run as: nobody if the tests run as root, else their own.
func unprivileged() (account, error) {
	if os.Getuid() != 0 {
		return account{uid: os.Getuid(), gid: os.Getgid()}, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return account{}, fmt.Errorf("the tests run as root, and servers need a user without privileges: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, fmt.Errorf("user nobody: %w", err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return account{}, fmt.Errorf("user nobody: %w", err)
	}
	return account{uid: uid, gid: gid, other: true}, nil
}

// attributes are those of a process of this account, in a process group of its own so that an
// interrupt at the terminal reaches the tests alone.
func (a account) attributes() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if a.other {
		attributes.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attributes
}

// own gives a file or folder to the account.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}
