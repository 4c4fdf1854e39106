package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/restore"
)

// watch shows progress until ctx ends or the session is over: on a terminal all of it, in one place; elsewhere a line whenever something has
// changed. While SQL does not answer it goes on, and says so to troubles, once; nil is for those who hear of it anyway.
func watch(ctx context.Context, out, troubles io.Writer, at *restorePlace, asJSON bool) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	s := screenOn(out)
	said, away := "", false
	for {
		last, err := at.sessions.Last(ctx, planName)
		var progress restore.Progress
		if err == nil {
			progress, err = at.sessions.Progress(ctx, last.ID)
		}
		told := away
		away = err != nil && ctx.Err() == nil
		switch line := progressLine(progress, asJSON); {
		case err != nil:
			if away && !told && troubles != nil {
				fmt.Fprintf(troubles, "progress cannot be read, and is asked for again: %v\n", err)
			}
		case s != nil && !asJSON:
			var block bytes.Buffer
			_ = printProgress(&block, progress, false) // into memory
			s.draw(block.String())
		case line != said:
			said = line
			if !asJSON {
				line = progress.Session.Now.Format(time.TimeOnly) + "  " + line
			}
			fmt.Fprintln(out, line)
		}
		if err == nil && progress.Session.State.Over() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// usualColumns is how wide a terminal is that does not say it.
const usualColumns = 80

// screen is a place on a terminal that is drawn again and again.
type screen struct {
	file *os.File
	rows int // that were drawn
}

// screenOn returns nil if out is no terminal.
func screenOn(out io.Writer) *screen {
	if !isTerminal(out) {
		return nil
	}
	return &screen{file: out.(*os.File)}
}

// draw puts lines in the place of those that were drawn before.
func (s *screen) draw(text string) {
	columns, up := columnsOf(s.file), ""
	if s.rows > 0 {
		up = fmt.Sprintf("\x1b[%dA", s.rows)
	}
	fmt.Fprintf(s.file, "%s\r\x1b[J%s", up, text) // up, to the left, and nothing below
	s.rows = 0
	for line := range strings.Lines(text) {
		s.rows += 1 + max(0, utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))-1)/columns
	}
}
