package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// section returns a part of docs/contract.md.
func section(t *testing.T, title string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\n## "+title+"\n")
	if !ok {
		t.Fatalf("docs/contract.md has no part %q", title)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// commands are those that can be run, by their paths without the program's name. What is not shown in help is not public.
func commands(c *cobra.Command) map[string]*cobra.Command {
	found := map[string]*cobra.Command{}
	public := 0
	for _, below := range c.Commands() {
		if below.Hidden || below.Name() == "help" || below.Name() == "completion" {
			continue
		}
		public++
		for path, leaf := range commands(below) {
			found[path] = leaf
		}
	}
	if public == 0 {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		found[path] = c
	}
	return found
}

// under reports whether a command is the one of a path, or one below it.
func under(command, path string) bool { return command == path || strings.HasPrefix(command, path+" ") }

// The contract says of which commands a flag is: of all that have it, and of no others.
func TestContractSaysWhoseFlagsAre(t *testing.T) {
	t.Parallel()
	all, rows := commands(newRootCommand(process{})), 0
	for _, m := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(section(t, "Flags"), -1) {
		rows++
		of := regexp.MustCompile(`\s*[,;]\s*`).Split(m[2], -1)
		used := map[string]bool{}
		for path, command := range all {
			if command.Flags().Lookup(m[1]) == nil && command.InheritedFlags().Lookup(m[1]) == nil {
				continue
			}
			i := slices.IndexFunc(of, func(listed string) bool { return under(path, listed) })
			if i < 0 {
				t.Errorf("%s takes --%s, which docs/contract.md says is of %q", path, m[1], of)
				continue
			}
			used[of[i]] = true
		}
		for _, listed := range of {
			if !used[listed] {
				t.Errorf("docs/contract.md says that --%s is of %s, which does not take it", m[1], listed)
			}
		}
	}
	if rows < 50 {
		t.Errorf("only %d flags were found", rows)
	}
}

// The contract lists each command that can be run, and no other.
func TestContractListsTheCommands(t *testing.T) {
	t.Parallel()
	all, listed := commands(newRootCommand(process{})), map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`reprise [^|]+) \\|").FindAllStringSubmatch(section(t, "Commands"), -1) {
		group := ""
		for i, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			words := strings.Fields(m[1])
			if i == 0 { // of several commands in a row the first is written out, and the others are beside it
				if words = words[1:]; len(words) > 1 {
					group, words = words[0]+" ", words[1:]
				}
			}
			path := group + strings.Join(words, " ")
			found := false
			for command := range all {
				if under(path, command) {
					listed[command], found = true, true
				}
			}
			if !found {
				t.Errorf("docs/contract.md lists %q, and there is no such command", path)
			}
		}
	}
	for command := range all {
		if !listed[command] {
			t.Errorf("docs/contract.md does not list `reprise %s`", command)
		}
	}
}
