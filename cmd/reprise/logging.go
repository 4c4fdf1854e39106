package main

import (
	"io"
	"log/slog"
	"os"

	"github.com/reprise-dev/reprise/internal/config"
)

// newLogger returns a logger to out: text on a terminal and JSON elsewhere, unless the configuration says
// which.
func newLogger(out io.Writer, c config.Log) *slog.Logger {
	level := map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}[c.Level] // else info
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: spellDuration}
	if c.Format == "text" || c.Format == "auto" && isTerminal(out) {
		return slog.New(slog.NewTextHandler(out, options))
	}
	return slog.New(slog.NewJSONHandler(out, options))
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// spellDuration writes durations as the configuration does, in JSON too.
func spellDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
