package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/reprise-dev/reprise/meter/meterrestore/restoretest"
)

// restoreGrowth is how much dearer a line may be, and how much more memory a process may take, where there are ten times as many lines.
const restoreGrowth = 1.3

// benchRestoreBig compares a restore of many lines, by a process of its own, with one of a tenth. It has the number of daily totals that was
// asked for.
func benchRestoreBig(ctx context.Context, s settings, t *table) error {
	if s.big == 0 {
		return nil
	}
	const times = 10
	lines := s.big / restoretest.TotalsOfLine
	binary, err := buildReprise(ctx, s)
	if err != nil {
		return err
	}
	var took, memory [2]float64
	for i, n := range []int{lines, lines / times} {
		t.progress("restore: making %d lines", n)
		if err := onRestore(ctx, n, func(p *restorePlant) (err error) {
			t.progress("restore: restoring %d lines", n)
			took[i], memory[i], err = p.byProcess(ctx, s, binary)
			return err
		}); err != nil {
			return err
		}
	}
	what := fmt.Sprintf(" of %s lines, with %s daily totals", number(float64(lines)), number(float64(s.big)))
	t.atMost(fmt.Sprintf("restore%s, time for a line (%s s in all)", what, number(took[0])), fmt.Sprintf("a tenth of them (%s s)", number(took[1])),
		took[0]/took[1]/times, restoreGrowth, "×")
	t.atMost(fmt.Sprintf("restore%s, memory (%s MiB)", what, number(memory[0])), fmt.Sprintf("a tenth of them (%s MiB)", number(memory[1])),
		memory[0]/memory[1], restoreGrowth, "×")
	return nil
}

// byProcess empties Redis, and has `reprise restore start` restore it. It returns how many seconds that takes, draining left out, and how many MiB
// the process had at most.
func (p *restorePlant) byProcess(ctx context.Context, s settings, binary string) (seconds, memory float64, err error) {
	const draining = 2 * time.Second
	file := filepath.Join(s.dir, "restore.yaml")
	text := fmt.Sprintf("redis: %s\nledger: %s\nretention: %v\ntolerance: %v\ntake-over: 1s\n", p.redis, p.sql, meterHorizon.Retention, meterHorizon.Tolerance)
	err = errors.Join(os.WriteFile(file, []byte(text), 0o600), p.host.try(func() { p.server.FlushAll() }))
	if err != nil {
		return 0, 0, err
	}
	command := exec.CommandContext(ctx, binary, "restore", "start", "--plan", "meter", "--config", file, "--why", "a bench")
	began := time.Now()
	said, err := command.CombinedOutput()
	took := time.Since(began) - draining
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, said)
	}
	usage := command.ProcessState.SysUsage().(*syscall.Rusage)
	return took.Seconds(), float64(usage.Maxrss) / 1024, nil
}
