package archtest

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	anchored  = regexp.MustCompile(`\]\(([^)#\s]*)#([^)\s]+)\)`)
	anyTitle  = regexp.MustCompile(`^#+ (.+)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// anchors are the names by which headings of a document are linked to, as GitHub makes them.
func anchors(document string) names {
	found, code := names{}, false
	for line := range strings.Lines(document) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		m := anyTitle.FindStringSubmatch(line)
		if m == nil || code {
			continue
		}
		name := strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		for n, first := 1, name; found[name]; n++ {
			name = fmt.Sprintf("%s-%d", first, n)
		}
		found[name] = true
	}
	return found
}

// TestLinksLeadToHeadings: a link to a part of a document leads to a heading that is there.
func TestLinksLeadToHeadings(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, document := range documents(t) {
		for _, m := range anchored.FindAllStringSubmatch(readDocument(t, document), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := document
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(document), m[1])
			}
			if there := anchors(readDocument(t, to)); !there[m[2]] {
				t.Errorf("%s links to %s#%s; there are %q", document, m[1], m[2], slices.Sorted(maps.Keys(there)))
			}
			checked++
		}
	}
	if checked == 0 {
		t.Error("no link was found: the pattern is wrong")
	}
}
