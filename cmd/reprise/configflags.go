package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/config"
)

// configVariable names the configuration file where there is no flag.
const configVariable = "REPRISE_CONFIG"

// keyFlags are the flags of keys, and the file beside them.
type keyFlags struct {
	environ []string
	file    string
	values  map[string]*string // by the name of the key
	changed func(flag string) bool
}

// addKeyFlags gives a command the flag of the file and one for each of some keys.
func addKeyFlags(cmd *cobra.Command, p process, keys []config.Key, fileVariable string) *keyFlags {
	f := &keyFlags{environ: p.Environ, values: map[string]*string{}, changed: cmd.Flags().Changed}
	cmd.Flags().StringVar(&f.file, "config", variable(p.Environ, fileVariable), "configuration file (also "+fileVariable+")")
	for _, k := range keys {
		if !k.Flag {
			continue
		}
		usage, _, _ := strings.Cut(strings.TrimSuffix(k.Doc, "."), ". ")
		usage = strings.ReplaceAll(usage, "`", "") // cobra takes what is quoted so for the name of the value
		if k.Default != "" {
			usage += " (default " + k.Default + ")"
		}
		f.values[k.Name] = cmd.Flags().String(k.FlagName(), "", usage)
	}
	return f
}

// sources reads the file, and says what is above it.
func (f *keyFlags) sources() (config.Sources, error) {
	from := config.Sources{File: f.file, Environ: f.environ, Flags: map[string]string{}}
	for name, value := range f.values {
		if f.changed((config.Key{Name: name}).FlagName()) {
			from.Flags[name] = *value
		}
	}
	if f.file != "" {
		var err error
		if from.YAML, err = readConfig(f.file); err != nil {
			return from, err
		}
	}
	return from, nil
}

// readConfig reads a configuration file, and says the next step where there is none.
func readConfig(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usageError{fmt.Errorf("the configuration cannot be read: %w: name the right file with --config, or leave it out and use flags and variables alone; docs/configuration.md and docs/meter.md have a file to begin with", err)}
	case err != nil:
		return nil, usageError{fmt.Errorf("the configuration cannot be read: %w", err)}
	}
	return data, nil
}

// configFlags are the flags of commands that read the configuration of the proxy.
type configFlags struct{ *keyFlags }

// addConfigFlags gives a command a flag for each key that has one.
func addConfigFlags(cmd *cobra.Command, p process) *configFlags {
	return &configFlags{addKeyFlags(cmd, p, config.Keys(), configVariable)}
}

// load reads the file and what is above it. It can be called again.
func (f *configFlags) load() (*config.Config, error) {
	from, err := f.sources()
	if err != nil {
		return nil, err
	}
	c, err := config.Load(from)
	if err != nil { // perhaps because of a variable that does not say what it should
		for is, meant := range config.Misspelt(from.Environ) {
			err = fmt.Errorf("%w\nthe variable %s has no meaning here, %s has", err, is, meant)
		}
		return nil, usageError{err}
	}
	return c, nil
}

// variable returns the value of an environment variable.
func variable(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
