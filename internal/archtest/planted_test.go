package archtest

import (
	"path"
	"strings"
	"testing"
)

// planted is code that breaks a rule, and how often.
type planted struct {
	rule, file, source string
	want               int
}

var violations = []planted{
	{"imports", "machine/bad.go", `import "github.com/reprise-dev/reprise/store"`, 1},
	{"imports", "store/sqlitestore/bad.go", `import "github.com/reprise-dev/reprise"`, 1},
	{"imports", "store/sqlitestore/bad.go", `import "github.com/reprise-dev/reprise/store/memstore"`, 1},
	{"imports", "httpguard/bad.go", `import "github.com/reprise-dev/reprise/proxy"`, 1},
	{"imports", "proxy/bad.go", `import "github.com/reprise-dev/reprise/store/sqlitestore"`, 1},
	{"imports", "bad.go", `import "github.com/reprise-dev/reprise/httpguard"`, 1},
	{"imports", "unheard/of/bad.go", ``, 1},
	{"pure packages", "machine/bad.go", `import "context"`, 1},
	{"pure packages", "machine/bad.go", `import "sync/atomic"`, 1},
	{"pure packages", "internal/flow/bad.go", `import "net/http"`, 1},
	{"pure packages", "machine/bad.go", `import "github.com/google/uuid"`, 1},
	{"pure packages", "meter/bad.go", `import "sync"`, 1},
	{"pure packages", "meter/bad.go", `import "github.com/reprise-dev/reprise/meter/meterredis"`, 1},
	{"imports", "meter/bad.go", `import "github.com/reprise-dev/reprise/machine"`, 1},
	{"test libraries", "store/bad.go", `import "pgregory.net/rapid"`, 1},
	{"test libraries", "httpguard/bad.go", `import "testing"`, 1},
	{"test libraries", "proxy/bad.go", `import "github.com/reprise-dev/reprise/reprisetest"`, 1},
	{"banned calls", "machine/bad.go", "import \"time\"\nvar t = time.Now()", 1},
	{"banned calls", "machine/bad.go", "import clock \"time\"\nvar t = clock.Since", 1},
	{"banned calls", "meter/bad.go", "import \"time\"\nvar zone, err = time.LoadLocation(\"UTC\")", 1},
	{"banned calls", "store/bad_test.go", "import \"time\"\nfunc f() { time.Sleep(1) }", 1},
	{"banned calls", "store/bad.go", `import "log"`, 1},
	{"banned calls", "store/bad.go", "import \"fmt\"\nfunc f() { fmt.Println() }", 1},
	{"banned calls", "cmd/reprise/bad.go", "import \"os\"\nfunc f() { os.Exit(1) }", 1},
	{"banned calls", "store/bad.go", "import \"context\"\nvar c = context.TODO()", 1},
	{"no init", "store/bad_test.go", `func init() {}`, 1},
	{"no panic", "store/bad.go", `func f() { panic("no") }`, 1},
	{"no package state", "store/bad.go", `var count int`, 1},
	{"no package state", "store/bad.go", "var table = map[string]int{}\nfunc f() { table[\"a\"] = 1 }", 1},
	{"no package state", "store/bad.go", "var n = 1\nfunc f() { n++ }", 1},
	{"no package state", "store/bad.go", "var c = config{}\nfunc f() *config { return &c }", 1},
	{"no package state", "store/bad.go", "import \"sync\"\nvar mu = sync.Mutex{}", 1},
	{"no package state", "store/bad.go", "var Default = 1", 1},
	{"package comment", "store/bad.go", ``, 1},
	{"exported names are documented", "store/bad.go", "type T struct{}\nfunc (T) Do() {}\nfunc F() {}\nconst C = 1", 4},
	{"short files", "store/bad.go", strings.Repeat("\n", maxLines), 1},
	{"SQL in .sql files", "store/bad.go", "const q = `SELECT a FROM b WHERE c = ?`", 1},
	{"SQL in .sql files", "store/bad.go", `const q = "insert into records values (?)"`, 1},
}

// innocent is code that the rules must let pass.
var innocent = []planted{
	{"imports", "store/pgstore/good.go", `import "github.com/reprise-dev/reprise/store"`, 0},
	{"imports", "store/pgstore/good_test.go", `import "github.com/reprise-dev/reprise/store/storetest"`, 0},
	{"imports", "cmd/reprise/good.go", `import "github.com/reprise-dev/reprise/store/sqlitestore"`, 0},
	{"imports", "store/pgstore/script/good.go", `import "github.com/reprise-dev/reprise/store/pgstore"`, 0},
	{"imports", "proxy/x/good.go", `import "github.com/reprise-dev/reprise/proxy"`, 0},
	{"pure packages", "machine/good.go", `import "time"`, 0},
	{"pure packages", "machine/good.go", `import "crypto/sha256"`, 0},
	{"pure packages", "internal/flow/good.go", `import "github.com/reprise-dev/reprise/machine"`, 0},
	{"pure packages", "meter/meterredis/good.go", `import "sync"`, 0},
	{"banned calls", "machine/good.go", "import \"time\"\nfunc f(t time.Time) time.Duration { return time.Second }", 0},
	{"banned calls", "store/good_test.go", "import \"fmt\"\nfunc Example() { fmt.Println() }", 0},
	{"no panic", "store/good_test.go", `func f() { panic("no") }`, 0},
	{"no package state", "store/good.go", "import \"errors\"\nvar ErrBad = errors.New(\"bad\")\nvar names = [...]string{\"a\"}\nvar _ = names", 0},
	{"no package state", "store/good.go", "var parts = 1\nfunc f() { parts := 2; parts++ }", 0},
	{"no package state", "store/good.go", "import _ \"embed\"\n\n//go:embed a.sql\nvar a string", 0},
	{"exported names are documented", "store/good.go", "type t struct{}\nfunc (t) Do() {}\n\n// The colours.\nconst (\n\tRed = 1\n\tBlue = 2\n)", 0},
	{"SQL in .sql files", "store/good.go", `const text = "select a store, then update it"`, 0},
	{"SQL in .sql files", "store/good_test.go", "const q = `SELECT a FROM b`", 0},
}

// TestPlanted: each rule finds what it is there to find, and nothing else.
func TestPlanted(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, c := range append(violations, innocent...) {
		covered[c.rule] = covered[c.rule] || c.want > 0
		got := check(t, c)
		if len(got) != c.want {
			t.Errorf("rule %q found %d things, want %d, in %s:\n%s\n%v", c.rule, len(got), c.want, c.file, c.source, got)
		}
	}
	for _, rule := range Rules() {
		if !covered[rule.Name] {
			t.Errorf("nothing shows that rule %q finds anything", rule.Name)
		}
	}
}

func check(t *testing.T, c planted) []Finding {
	t.Helper()
	file, err := ParseFile(c.file, []byte("package planted\n"+c.source+"\n"))
	if err != nil {
		t.Fatalf("%s: %v\n%s", c.file, err, c.source)
	}
	for _, rule := range Rules() {
		if rule.Name == c.rule {
			return rule.Check(&Package{Path: path.Dir(c.file), Files: []*File{file}})
		}
	}
	t.Fatalf("there is no rule %q", c.rule)
	return nil
}
