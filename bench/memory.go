package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// benchMemory sends fresh keys to `reprise proxy` on SQLite and watches what the process takes. It must
// not grow with the number of records: at the end it may hold a quarter more than after a tenth.
func benchMemory(ctx context.Context, s settings, t *table) (err error) {
	upstream, err := startOwn(ctx, "upstream")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, upstream.stop()) }()
	binary, err := buildReprise(ctx, s)
	if err != nil {
		return err
	}
	reprise, err := startReprise(ctx, s, binary, upstream.address, "sqlite:"+filepath.Join(s.dir, "memory.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reprise.stop()) }()
	connections, err := dial(reprise.address, 64)
	if err != nil {
		return err
	}
	keys := counter("memory-")
	var done int
	at := map[int]float64{}
	for _, tenths := range []int{1, 5, 10} {
		until := s.operations / 10 * tenths
		t.progress("memory: up to %d operations on SQLite", until)
		resident, err := sendAndWatch(ctx, reprise.command.Process.Pid, connections, until-done, keys)
		if err != nil {
			return err
		}
		done, at[tenths] = until, resident
		t.info(fmt.Sprintf("proxy on SQLite, memory after %d operations", until), "", number(resident)+" MiB")
	}
	t.atMost(fmt.Sprintf("proxy on SQLite, memory after %d operations", done), "memory after a tenth of them", at[10]/at[1], 1.25, "×")
	return connections.close()
}

// sendAndWatch sends n orders and returns the median of the memory during the last of them.
func sendAndWatch(ctx context.Context, pid int, connections clients, n int, keys func() string) (float64, error) {
	const samples = 20
	last := min(n, 20_000)
	if err := connections.times(n-last, keys); err != nil {
		return 0, err
	}
	var seen []float64
	for range samples {
		if err := connections.times(last/samples, keys); err != nil {
			return 0, err
		}
		m, err := residentMiB(pid)
		if err != nil {
			return 0, err
		}
		seen = append(seen, m)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return median(seen), nil
}

// residentMiB returns the resident memory of a process, without pages of files that it maps.
func residentMiB(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("the memory of a process can be read on Linux only: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("no RssAnon in /proc/PID/status")
}
