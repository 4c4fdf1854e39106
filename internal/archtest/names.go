package archtest

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// names is a set of public names.
type names map[string]bool

// literal returns the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// eachIn calls visit for every node of the production files of the packages at or below dir.
func eachIn(packages []*Package, dir string, visit func(*File, ast.Node)) {
	for _, p := range packages {
		if !p.under(dir) {
			continue
		}
		for _, f := range p.Files {
			if !f.Test {
				f.each(func(n ast.Node) { visit(f, n) })
			}
		}
	}
}

var (
	flagMethod   = regexp.MustCompile(`^(Bool|Count|Duration|Float64|Int|Int64|String|StringArray|StringSlice|Uint|Uint32|Uint64)?VarP?$`)
	metricMethod = regexp.MustCompile(`^(Int64|Float64)(Counter|UpDownCounter|Histogram|Gauge|ObservableGauge|ObservableCounter)$`)
	variableName = regexp.MustCompile(`^REPRISE_[A-Z_]*[A-Z]$`)
	httpPath     = regexp.MustCompile(`^(?:[A-Z]+ )?(/[a-z]+)$`)
	tableName    = regexp.MustCompile(`(?im)^\s*CREATE\s+(?:TABLE|(?:UNIQUE\s+)?INDEX)\s+(?:IF NOT EXISTS\s+)?(?:reprise\.)?(\w+)`)
)

// flagNames are the flags that the command declares, apart from those of configuration keys.
func flagNames(packages []*Package) names {
	found := names{}
	eachIn(packages, "cmd", func(_ *File, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && flagMethod.MatchString(s.Sel.Name) {
			if name, ok := literal(call.Args[1]); ok {
				found["--"+name] = true
			}
		}
	})
	return found
}

// metricNames are the instruments that any package makes.
func metricNames(packages []*Package) names {
	found := names{}
	for _, p := range packages {
		eachIn([]*Package{p}, p.Path, func(_ *File, n ast.Node) {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && metricMethod.MatchString(s.Sel.Name) {
				if name, ok := literal(call.Args[0]); ok {
					found[name] = true
				}
			}
		})
	}
	return found
}

// variableNames are the environment variables that are read by name. Those of tests and of processes that
// start themselves are not public.
func variableNames(packages []*Package) names {
	return literals(packages, []string{"cmd", "internal/config", "proxy", "httpguard"}, variableName, 0)
}

// adminPaths are the paths that the command itself serves.
func adminPaths(packages []*Package) names {
	found := names{}
	eachIn(packages, "cmd", func(_ *File, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Handle") {
			if text, ok := literal(call.Args[0]); ok && httpPath.MatchString(text) {
				found[httpPath.FindStringSubmatch(text)[1]] = true
			}
		}
	})
	return found
}

func literals(packages []*Package, dirs []string, pattern *regexp.Regexp, group int) names {
	found := names{}
	for _, dir := range dirs {
		eachIn(packages, dir, func(_ *File, n ast.Node) {
			if e, ok := n.(ast.Expr); ok {
				if text, ok := literal(e); ok && pattern.MatchString(text) {
					found[pattern.FindStringSubmatch(text)[group]] = true
				}
			}
		})
	}
	return found
}

// constants are the values of a package's string constants whose names begin with prefix.
func constants(packages []*Package, dir, prefix string) names {
	found := names{}
	for _, p := range packages {
		if p.Path != dir {
			continue
		}
		eachIn([]*Package{p}, dir, func(_ *File, n ast.Node) {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return
			}
			for i, name := range spec.Names {
				if i < len(spec.Values) && strings.HasPrefix(name.Name, prefix) {
					if text, ok := literal(spec.Values[i]); ok {
						found[text] = true
					}
				}
			}
		})
	}
	return found
}

// tableNames are the tables and indexes of all schemas.
func tableNames(dir string) (names, error) {
	found := names{}
	var files []string
	for _, schemas := range []string{"store/*/schema/*.sql", "meter/meterledger/*/schema/*.sql", "restore/*/schema/*.sql"} {
		some, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(schemas)))
		if err != nil {
			return nil, err
		}
		files = append(files, some...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, m := range tableName.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
		}
	}
	return found, nil
}

// testNames are the tests, fuzz targets and examples of every package, as package.Name. The root package
// is called reprise.
func testNames(packages []*Package) names {
	found := names{}
	for _, p := range packages {
		base := path.Base(p.Path)
		if p.Path == "." {
			base = "reprise"
		}
		for _, f := range p.Files {
			for _, d := range f.syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
					found[base+"."+fn.Name.Name] = true
				}
			}
		}
	}
	return found
}
