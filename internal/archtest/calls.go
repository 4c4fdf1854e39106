package archtest

import (
	"go/ast"
	"slices"
	"strings"
)

// bannedCall is a function of the standard library that is not to be used in some places.
type bannedCall struct {
	// path and names of the functions; no names means that the package is not to be imported at all.
	path    string
	names   []string
	applies func(p *Package, f *File) bool
	instead string
}

var bannedCalls = []bannedCall{
	{"time", []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
		func(p *Package, f *File) bool { return !f.Test && slices.Contains(purePackages, p.Path) },
		"time is an argument of a pure package"},
	{"time", []string{"LoadLocation", "Local"},
		func(p *Package, f *File) bool { return !f.Test && slices.Contains(purePackages, p.Path) },
		"a time zone is an argument of a pure package: it is read from disk"},
	{"time", []string{"Sleep"}, everywhere,
		"wait for an event; a production wait ends with its context, a test uses channels or testing/synctest"},
	{"fmt", []string{"Print", "Printf", "Println"},
		func(p *Package, f *File) bool { return !f.Test && !p.under("cmd") },
		"a library does not write to its user's standard output"},
	{"log", nil, func(_ *Package, f *File) bool { return !f.Test }, "log with log/slog, through a logger that was given"},
	{"os", []string{"Exit"},
		func(p *Package, f *File) bool { return !strings.HasSuffix(f.Path, "/main.go") && !f.Test },
		"return an error; only main ends the process"},
	{"context", []string{"TODO"}, everywhere, "take a context, or say context.Background and why"},
}

func everywhere(*Package, *File) bool { return true }

func checkCalls(p *Package) []Finding {
	var found []Finding
	for _, f := range p.Files {
		imported := f.imports()
		for _, banned := range bannedCalls {
			name, ok := imported[banned.path]
			if !ok || !banned.applies(p, f) {
				continue
			}
			if len(banned.names) == 0 {
				found = append(found, finding(f.Path, "imports %s: %s", banned.path, banned.instead))
				continue
			}
			f.each(func(n ast.Node) {
				if s, ok := n.(*ast.SelectorExpr); ok && isName(s.X, name) && slices.Contains(banned.names, s.Sel.Name) {
					found = append(found, finding(f.where(n), "uses %s.%s: %s", banned.path, s.Sel.Name, banned.instead))
				}
			})
		}
	}
	return found
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func checkInit(p *Package) []Finding {
	var found []Finding
	for _, f := range p.Files {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, finding(f.where(fn), "has an init function: make it a constructor"))
			}
		}
	}
	return found
}

func checkPanic(p *Package) []Finding {
	var found []Finding
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		f.each(func(n ast.Node) {
			if call, ok := n.(*ast.CallExpr); ok && isName(call.Fun, "panic") {
				found = append(found, finding(f.where(n), "panics: return an error"))
			}
		})
	}
	return found
}
