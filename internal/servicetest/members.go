//go:build unix

package servicetest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// member is the server or one of its children. Children are found by their parent: a process group
// would miss those that made a group of their own, as those of PostgreSQL do.
type member struct {
	pid, parent int
	stopped     bool // it does not run: stopped by a signal, or dead
}

// members returns the server first, then its children.
func (p *process) members() ([]member, error) {
	all, err := listProcesses()
	if err != nil {
		return nil, err
	}
	server := p.cmd.Process.Pid
	var own, children []member
	for _, m := range all {
		switch server {
		case m.pid:
			own = append(own, m)
		case m.parent:
			children = append(children, m)
		}
	}
	return append(own, children...), nil
}

// listProcesses lists the processes of the machine, from /proc where there is one.
func listProcesses() ([]member, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return psProcesses()
	}
	var all []member
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // ended since it was listed
		}
		// "pid (any name) state parent …": the name may have blanks and parentheses
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			return nil, fmt.Errorf("/proc/%d/stat has another form than expected", pid)
		}
		m, err := newMember(entry.Name(), fields[1], fields[0])
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func psProcesses() ([]member, error) {
	output, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "state=").Output()
	if err != nil {
		return nil, err
	}
	var all []member
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		m, err := newMember(fields[0], fields[1], fields[2])
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func newMember(pid, parent, state string) (member, error) {
	id, err := strconv.Atoi(pid)
	up, err2 := strconv.Atoi(parent)
	return member{pid: id, parent: up, stopped: strings.ContainsAny(state[:1], "TtZX")}, errors.Join(err, err2)
}
