//go:build unix

package servicetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// mountDisk makes a disk of some bytes at a path of the folder, in memory. The keeper unmounts it.
func (f *folder) mountDisk(path string, bytes int64) error {
	if err := errors.Join(os.Mkdir(path, 0o700), f.account.own(path)); err != nil {
		return err
	}
	options := fmt.Sprintf("size=%d,mode=0700,uid=%d,gid=%d", bytes, f.account.uid, f.account.gid)
	output, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "servicetest", path).CombinedOutput()
	if err != nil {
		why := fmt.Sprintf("needs a small disk, which takes root on Linux: mount: %v: %s", err, output)
		return absence{why: why, given: true}
	}
	return nil
}

// fill writes a file until there is no room left.
func fill(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for size := 1 << 20; size > 0; {
		_, err := file.Write(make([]byte, size))
		switch {
		case errors.Is(err, syscall.ENOSPC):
			size /= 2
		case err != nil:
			return err
		}
	}
	return nil
}
