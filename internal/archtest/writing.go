package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
)

const maxLines = 400

func checkLength(p *Package) []Finding {
	var found []Finding
	for _, f := range p.Files {
		if f.Lines > maxLines {
			found = append(found, finding(f.Path, "has %d lines, more than %d: split it by concept", f.Lines, maxLines))
		}
	}
	return found
}

func checkPackageComment(p *Package) []Finding {
	tests := true
	for _, f := range p.Files {
		tests = tests && f.Test
		if !f.Test && f.syntax.Doc != nil && f.syntax.Doc.Text() != "" {
			return nil
		}
	}
	if tests {
		return nil // nothing but tests: there is nobody to explain a package to
	}
	return []Finding{finding(p.Path, "has no package comment")}
}

// checkDocumented wants a comment on every exported name. A comment on a group serves its members. A
// method may go without if its type is not exported, or if an interface says what it does.
func checkDocumented(p *Package) []Finding {
	if p.under("cmd") {
		return nil // nobody imports a command
	}
	promised := interfaceMethods(p)
	var found []Finding
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d)) && !promised[d.Name.Name]) {
					found = append(found, finding(f.where(d), "%s has no comment", d.Name.Name))
				}
			case *ast.GenDecl:
				found = append(found, undocumentedSpecs(f, d)...)
			}
		}
	}
	return found
}

func undocumentedSpecs(f *File, decl *ast.GenDecl) []Finding {
	var found []Finding
	for _, s := range decl.Specs {
		var names []*ast.Ident
		commented := decl.Doc != nil
		switch s := s.(type) {
		case *ast.TypeSpec:
			names, commented = []*ast.Ident{s.Name}, commented || s.Doc != nil || s.Comment != nil
		case *ast.ValueSpec:
			names, commented = s.Names, commented || s.Doc != nil || s.Comment != nil
		}
		for _, name := range names {
			if name.IsExported() && !commented {
				found = append(found, finding(f.where(name), "%s has no comment", name.Name))
			}
		}
	}
	return found
}

// interfaceMethods returns the names of methods that some interface explains: those that the package
// declares, and the well-known ones of the standard library.
func interfaceMethods(p *Package) map[string]bool {
	names := map[string]bool{
		"Error": true, "Unwrap": true, "Is": true, "As": true, "String": true,
		"Read": true, "Write": true, "Close": true, "Header": true, "WriteHeader": true, "ServeHTTP": true, "RoundTrip": true, "Flush": true,
	}
	for _, f := range p.Files {
		f.each(func(n ast.Node) {
			if i, ok := n.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					for _, name := range m.Names {
						names[name.Name] = names[name.Name] || m.Doc != nil || m.Comment != nil
					}
				}
			}
		})
	}
	return names
}

// receiver returns the name of the type that a method belongs to.
func receiver(fn *ast.FuncDecl) string {
	t := fn.Recv.List[0].Type
	for {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// statement looks for SQL by its shape: enough of a statement that no sentence has it.
var statement = regexp.MustCompile(`(?is)^\s*(select\s.+\sfrom\s|insert\s+(or\s+\w+\s+)?into\s|update\s+\S+\s+set\s|delete\s+from\s|create\s+(unique\s+)?(table|index)\s|alter\s+table\s|drop\s+table\s)`)

func checkSQL(p *Package) []Finding {
	var found []Finding
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		f.each(func(n ast.Node) {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && statement.MatchString(text) {
				found = append(found, finding(f.where(n), "has a SQL statement: put it into a .sql file and embed it"))
			}
		})
	}
	return found
}
