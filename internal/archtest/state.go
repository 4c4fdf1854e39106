package archtest

import (
	"go/ast"
	"go/token"
	"strings"
)

// checkState finds package-level variables that are more than a name for a value. A variable passes if it
// is set where it is declared and nothing in its package assigns to it, writes into it or takes its
// address, and if its declaration shows no lock, pool or atomic. Exported ones are errors, because another
// package could assign to them.
//
// Only the servers for tests are shared by all tests of a process: starting one takes seconds.
func checkState(p *Package) []Finding {
	if p.Path == "internal/servicetest" {
		return nil
	}
	changed := map[string]bool{}
	for _, f := range p.Files {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !f.Test {
				collectChanges(fn, changed)
			}
		}
	}
	var found []Finding
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		for _, d := range f.syntax.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.VAR {
				continue
			}
			for _, s := range decl.Specs {
				found = append(found, checkVariables(f, decl, s.(*ast.ValueSpec), changed)...)
			}
		}
	}
	return found
}

func checkVariables(f *File, decl *ast.GenDecl, spec *ast.ValueSpec, changed map[string]bool) []Finding {
	if isEmbedded(decl, spec) {
		return nil
	}
	var found []Finding
	for _, name := range spec.Names {
		switch {
		case name.Name == "_":
		case len(spec.Values) == 0:
			found = append(found, finding(f.where(name), "%s is a package variable without a value: it can only be state", name.Name))
		case changed[name.Name]:
			found = append(found, finding(f.where(name), "%s is a package variable that is changed or whose address is taken", name.Name))
		case synchronizes(spec):
			found = append(found, finding(f.where(name), "%s synchronizes: it is state of the whole process", name.Name))
		case name.IsExported() && !strings.HasPrefix(name.Name, "Err"):
			found = append(found, finding(f.where(name), "%s is exported and can be assigned to: make it a constant or a function", name.Name))
		}
	}
	return found
}

// isEmbedded reports whether go:embed fills the variable.
func isEmbedded(decl *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, group := range []*ast.CommentGroup{decl.Doc, spec.Doc} {
		if group == nil {
			continue
		}
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:embed") {
				return true
			}
		}
	}
	return false
}

// synchronizes reports whether a declaration mentions package sync or sync/atomic outside of a function.
func synchronizes(spec *ast.ValueSpec) bool {
	mentions := false
	ast.Inspect(spec, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && (isName(s.X, "sync") || isName(s.X, "atomic")) {
			mentions = true
		}
		_, function := n.(*ast.FuncLit)
		return !function
	})
	return mentions
}

// collectChanges notes what a function assigns to or takes the address of, apart from names that are
// declared anywhere in it.
func collectChanges(fn *ast.FuncDecl, changed map[string]bool) {
	local := map[string]bool{"": true}
	ast.Inspect(fn, func(n ast.Node) bool {
		collectLocal(n, local)
		return true
	})
	ast.Inspect(fn, func(n ast.Node) bool {
		for _, e := range targets(n) {
			if name := rootName(e); !local[name] {
				changed[name] = true
			}
		}
		return true
	})
}

// collectLocal notes the names that a node declares.
func collectLocal(n ast.Node, local map[string]bool) {
	var names []ast.Expr
	switch n := n.(type) {
	case *ast.Field:
		for _, name := range n.Names {
			local[name.Name] = true
		}
	case *ast.ValueSpec:
		for _, name := range n.Names {
			local[name.Name] = true
		}
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			names = n.Lhs
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			names = []ast.Expr{n.Key, n.Value}
		}
	}
	for _, name := range names {
		local[rootName(name)] = true
	}
}

// targets returns what a node writes to or takes the address of.
func targets(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if isName(n.Fun, "delete") || isName(n.Fun, "clear") || isName(n.Fun, "copy") {
			return n.Args[:1]
		}
	}
	return nil
}

// rootName returns a for a, a.b, a[i], *a and (a), and nothing for the rest.
func rootName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return rootName(e.X)
	case *ast.IndexExpr:
		return rootName(e.X)
	case *ast.SliceExpr:
		return rootName(e.X)
	case *ast.StarExpr:
		return rootName(e.X)
	case *ast.ParenExpr:
		return rootName(e.X)
	}
	return ""
}
