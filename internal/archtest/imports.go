package archtest

import (
	"path"
	"slices"
	"strings"
)

// layer says what the packages at or below dir may import of this module, outside of tests. The longest
// dir that fits a package counts. "store/..." allows store and everything below it.
type layer struct {
	dir     string
	imports []string
}

// layers go one way: machine ← store ← stores and guard ← http and grpc ← proxy ← command.
// A new package gets a line here.
var layers = []layer{
	{"machine", nil},
	{"internal/flow", []string{"machine"}},
	{"meter", nil},
	{"meter/metertest", []string{"meter"}},
	{"meter/meterledger", []string{"meter", "store", "internal/database"}},
	{"meter/meterledger/ledgertest", []string{"meter", "store", "meter/meterledger", "internal/faultnet"}},
	{"meter/inspect", []string{"meter", "store", "meter/meterredis", "meter/meterledger", "meter/pipeline"}},
	{"meter/meterhttp", []string{"meter", "store", "httpguard", "meter/meterredis", "meter/meterledger", "meter/pipeline", "meter/inspect"}},
	{"api", []string{"store", "restore", "httpguard"}},
	{"meter/meterrestore", []string{"meter", "store", "restore", "meter/inspect", "meter/meterredis", "meter/meterledger", "meter/pipeline"}},
	{"meter/meterrestore/restoretest", nil},
	{"meter/pipeline", []string{"machine", "meter", "store", "meter/meterredis", "meter/meterledger"}},
	{"meter/meterredis", []string{"machine", "meter", "store", "store/redisstore"}}, // its effects are that store's
	{"store", []string{"machine"}},
	{"store/storetest", []string{"machine", "store", "store/faultstore", "store/memstore"}}, // memstore is what others are compared with
	{".", []string{"machine", "store", "internal/flow", "internal/patience", "internal/redact"}},
	{"reprisetest", []string{".", "machine", "store", "store/memstore", "store/faultstore"}},
	{"httpguard", []string{".", "machine", "store", "internal/..."}},
	{"retryclient", []string{"internal/..."}},
	{"admin", []string{".", "machine", "store", "internal/..."}},
	{"proxy", []string{".", "machine", "store", "httpguard", "proxy/...", "internal/..."}},
	{"internal/config", []string{".", "machine", "store", "httpguard", "proxy"}},
	{"cmd/reprise", []string{"..."}},
	{"examples", []string{".", "machine", "store", "httpguard", "store/sqlitestore", "store/pgstore", "store/mysqlstore", "store/redisstore"}},
	{"restore", []string{"store", "internal/..."}}, // it knows nothing of what it restores
	{"internal/database", []string{"store", "internal/dsn"}},
	{"internal/prove", nil},
	{"internal/explore", []string{".", "machine", "store", "internal/flow"}},
	{"internal/killtest", []string{"machine", "store"}},
	{"internal/faulttest", []string{".", "machine", "store", "store/faultstore", "admin", "internal/faultnet"}},
	{"internal", nil},
}

// stores are the directories of stores and decorators; each may import these and nothing beside.
var storeImports = []string{"machine", "store", "store/internal/...", "internal/dsn"}

// concreteStores are named by commands and by test support only.
var concreteStores = []string{"store/memstore", "store/sqlitestore", "store/pgstore", "store/mysqlstore", "store/redisstore"}

// mayNameStores are the packages that may import a concrete store outside of tests.
var mayNameStores = []string{"cmd/reprise", "reprisetest", "store/storetest", "meter/meterredis",
	"examples/orders-sqlite", "examples/orders-postgres", "examples/orders-mysql", "examples/orders-redis"}

func checkImports(p *Package) []Finding {
	allowed, known := layerOf(p)
	if !known {
		return []Finding{finding(p.Path, "the package has no line in layers (internal/archtest/imports.go): say what it may import")}
	}
	var found []Finding
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		for imported := range f.imports() {
			own, ok := ownPath(imported)
			if !ok || own == p.Path {
				continue
			}
			if slices.Contains(concreteStores, own) && !slices.Contains(mayNameStores, p.Path) && !isPart(p, own) {
				found = append(found, finding(f.Path, "imports %s: only %s name concrete stores", own, strings.Join(mayNameStores, ", ")))
			} else if !permits(allowed, own) && !isPart(p, own) {
				found = append(found, finding(f.Path, "imports %s, which the layers of internal/archtest/imports.go do not allow", own))
			}
		}
	}
	return found
}

// isPart reports whether the two are parts of one: a directory below a store, say, and the store.
func isPart(p *Package, own string) bool {
	shared := commonDir(p.Path, own)
	return shared != "." && shared != "store" && shared != "internal"
}

func commonDir(a, b string) string {
	for a != b && a != "." && b != "." {
		if len(a) >= len(b) {
			a = path.Dir(a)
		} else {
			b = path.Dir(b)
		}
	}
	if a == b {
		return a
	}
	return "."
}

func layerOf(p *Package) ([]string, bool) {
	best := -1
	for i, l := range layers {
		if (p.Path == l.dir || l.dir != "." && p.under(l.dir)) && (best < 0 || len(l.dir) > len(layers[best].dir)) {
			best = i
		}
	}
	if best < 0 {
		return nil, false
	}
	if strings.HasPrefix(p.Path, "store/") && layers[best].dir == "store" {
		return storeImports, true
	}
	return layers[best].imports, true
}

func permits(allowed []string, own string) bool {
	for _, a := range allowed {
		dir, deep := strings.CutSuffix(a, "...")
		dir = strings.TrimSuffix(dir, "/")
		if own == a || deep && (dir == "" || own == dir || strings.HasPrefix(own, dir+"/")) {
			return true
		}
	}
	return false
}

// ownPath returns the path of a package of this module relative to its root.
func ownPath(imported string) (string, bool) {
	if imported == Module {
		return ".", true
	}
	return strings.CutPrefix(imported, Module+"/")
}

// purePackages compute and do nothing else.
var purePackages = []string{"machine", "internal/flow", "meter"}

// impure are what a pure package may not import; what lies below is meant too.
var impure = []string{"context", "crypto/rand", "database/sql", "log", "math/rand", "net", "os", "runtime", "sync", "syscall", "unsafe"}

func checkPure(p *Package) []Finding {
	if !slices.Contains(purePackages, p.Path) {
		return nil
	}
	var found []Finding
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		for imported := range f.imports() {
			name, own := ownPath(imported)
			switch {
			case own && !slices.Contains(purePackages, name):
				found = append(found, finding(f.Path, "imports %s: a pure package imports no package that is not pure", name))
			case slices.ContainsFunc(impure, func(dir string) bool { return imported == dir || strings.HasPrefix(imported, dir+"/") }):
				found = append(found, finding(f.Path, "imports %s in a pure package", imported))
			case !own && !isStandard(imported):
				found = append(found, finding(f.Path, "imports %s: a pure package imports the standard library only", imported))
			}
		}
	}
	return found
}

// isStandard reports whether a package is of the standard library: others begin with a domain.
func isStandard(imported string) bool {
	host, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(host, ".")
}

// testLibraries stay out of production packages. testSupport are packages that exist for tests.
var (
	testLibraries = []string{
		"testing", "net/http/httptest", "pgregory.net/rapid", "github.com/anishathalye/porcupine", "go.uber.org/goleak",
		"github.com/google/go-cmp", "github.com/chromedp/chromedp", "github.com/rogpeppe/go-internal",
	}
	testSupport = []string{"store/storetest", "reprisetest", "internal/servicetest", "internal/faultnet", "internal/faulttest", "internal/killtest", "internal/tokentest", "internal/explore", "meter/metertest", "meter/meterledger/ledgertest", "meter/meterrestore/restoretest"}
)

func checkTestLibraries(p *Package) []Finding {
	if slices.Contains(testSupport, p.Path) {
		return nil
	}
	var found []Finding
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		for imported := range f.imports() {
			for _, library := range testLibraries {
				if imported == library || strings.HasPrefix(imported, library+"/") {
					found = append(found, finding(f.Path, "imports %s outside of tests", imported))
				}
			}
			if own, ok := ownPath(imported); ok && slices.Contains(testSupport, own) {
				found = append(found, finding(f.Path, "imports %s, which is for tests", own))
			}
		}
	}
	return found
}
