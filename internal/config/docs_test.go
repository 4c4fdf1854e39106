package config

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var writeDocs = flag.Bool("write-docs", false, "write the tables of docs/configuration.md")

// The page ends with the tables of the program.
func TestDocs(t *testing.T) {
	t.Parallel()
	const page, mark = "../../docs/configuration.md", "<!-- The rest is written by: go test ./internal/config -run TestDocs -write-docs -->\n\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, tables, ok := strings.Cut(string(data), mark)
	if !ok {
		t.Fatalf("the page has no line %q", mark)
	}
	if *writeDocs {
		if err := os.WriteFile(page, []byte(head+mark+Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if tables != Markdown() {
		t.Error("docs/configuration.md is not what the program does; run: go test ./internal/config -run TestDocs -write-docs")
	}
}

// The examples on the page are configurations.
func TestDocsExamples(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(data), "```yaml\n")[1:]
	if len(examples) == 0 {
		t.Fatal("there are no examples")
	}
	for _, e := range examples {
		text, _, _ := strings.Cut(e, "```")
		if _, err := Load(Sources{File: "example.yaml", YAML: []byte(text)}); err != nil {
			t.Errorf("%v in:\n%s", err, text)
		}
	}
}
