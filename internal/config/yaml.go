package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNesting is deeper than any value that means something. It ends the walk of a list that contains
// itself by an alias.
const maxNesting = 6

// maxSize is larger than any configuration, in bytes. Reading much more takes minutes where keys are there twice.
const maxSize = 1 << 20

// parseYAML reads one document whose top is a mapping. An empty one is an empty mapping.
func parseYAML(file string, data []byte) (value, Mistakes) {
	at := Place{Source: file, Line: 1}
	if len(data) > maxSize {
		return value{}, Mistakes{{At: at, Text: fmt.Sprintf("%d bytes, and a configuration has %d at most: is it the right file?", len(data), maxSize)}}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return value{at: at, form: formPairs}, nil
	case err != nil:
		return value{}, Mistakes{syntaxMistake(at, data, err)}
	}
	if err := decoder.Decode(&second); err == nil {
		return value{}, Mistakes{{At: Place{file, second.Line}, Text: "a second document begins here; the configuration is one"}}
	} else if !errors.Is(err, io.EOF) {
		return value{}, Mistakes{syntaxMistake(at, data, err)}
	}
	var mistakes Mistakes
	top := convert(file, document.Content[0], 0, &mistakes)
	switch top.form {
	case formNothing:
		top.form = formPairs
	case formPairs:
	default:
		mistakes = append(mistakes, Mistake{At: at, Text: "the configuration is not a mapping; begin with a key, such as `listen: 127.0.0.1:8080`"})
	}
	return top, mistakes
}

// early are errors of the reader for which it counts lines from 0.
var early = regexp.MustCompile(`^did not find expected (key|node content|'-' indicator|',' or )`)

// syntaxMistake takes the line out of the reader's error.
func syntaxMistake(at Place, data []byte, err error) Mistake {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if found := regexp.MustCompile(`^(?s:(?:.*\n\s*)?)line (\d+): (.*)`).FindStringSubmatch(message); found != nil {
		at.Line, _ = strconv.Atoi(found[1])
		message = found[2]
		if early.MatchString(message) {
			at.Line = min(at.Line+1, bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n"))+1)
		}
	}
	return Mistake{At: at, Text: "not YAML: " + message}
}

// convert turns a node into a value. What cannot be one is reported and left out.
func convert(file string, node *yaml.Node, depth int, mistakes *Mistakes) value {
	v := value{at: Place{file, max(node.Line, 1)}}
	refuse := func(format string, args ...any) value {
		*mistakes = append(*mistakes, Mistake{At: v.at, Text: fmt.Sprintf(format, args...)})
		return v
	}
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if depth > maxNesting {
		return refuse("is nested too deep")
	}
	switch node.Kind {
	case yaml.ScalarNode:
		v.text = node.Value
		if node.Tag == "!!null" {
			v.form = formNothing
		}
	case yaml.SequenceNode:
		v.form = formList
		for _, item := range node.Content {
			v.items = append(v.items, convert(file, item, depth+1, mistakes))
		}
	case yaml.MappingNode:
		v.form = formPairs
		convertPairs(file, node, depth, mistakes, &v)
	default:
		return refuse("is not a value")
	}
	return v
}

func convertPairs(file string, node *yaml.Node, depth int, mistakes *Mistakes, v *value) {
	first := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i]
		at := Place{file, max(name.Line, 1)}
		switch line, twice := first[name.Value]; {
		case name.Kind != yaml.ScalarNode:
			*mistakes = append(*mistakes, Mistake{At: at, Text: "a key must be a word"})
			continue
		case name.Tag == "!!merge":
			*mistakes = append(*mistakes, Mistake{At: at, Text: "<< is not supported; what is set outside of `routes` is what they inherit"})
			continue
		case twice:
			*mistakes = append(*mistakes, Mistake{At: at, Key: name.Value, Text: fmt.Sprintf("is there twice; the first is in line %d", line)})
			continue
		}
		first[name.Value] = at.Line
		v.pairs = append(v.pairs, pair{name: name.Value, at: at, value: convert(file, node.Content[i+1], depth+1, mistakes)})
	}
}
