package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the path under which the module's own packages are imported.
const Module = "github.com/reprise-dev/reprise"

// File is a parsed Go file.
type File struct {
	// Path is relative to the module's root, with slashes.
	Path string
	// Test is whether the file is compiled only into tests.
	Test bool
	// Lines is the number of lines.
	Lines int

	syntax    *ast.File
	positions *token.FileSet
}

// Package is a directory of Go files.
type Package struct {
	// Path is relative to the module's root; the root is ".".
	Path  string
	Files []*File
}

// ParseFile parses one file. A file that does not parse is an error: the compiler finds it too.
func ParseFile(name string, source []byte) (*File, error) {
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &File{
		Path: name, Test: strings.HasSuffix(name, "_test.go"), Lines: bytes.Count(source, []byte("\n")),
		syntax: syntax, positions: positions,
	}, nil
}

// ParseTree parses every Go file of the module at root. Nested modules and testdata are left out.
func ParseTree(root string) ([]*Package, error) {
	packages := map[string]*Package{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			return skipDir(name, relative, entry.Name())
		}
		if path.Ext(relative) != ".go" {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := ParseFile(relative, source)
		if err != nil {
			return err
		}
		dir := path.Dir(relative)
		if packages[dir] == nil {
			packages[dir] = &Package{Path: dir}
		}
		packages[dir].Files = append(packages[dir].Files, file)
		return nil
	})
	return slices.SortedFunc(maps.Values(packages), func(a, b *Package) int { return strings.Compare(a.Path, b.Path) }), err
}

func skipDir(name, relative, base string) error {
	if relative == "." {
		return nil
	}
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// under reports whether the package is dir or lies below it.
func (p *Package) under(dir string) bool {
	return p.Path == dir || strings.HasPrefix(p.Path, dir+"/")
}

// where names a place in the file, for a finding.
func (f *File) where(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.Path, f.positions.Position(n.Pos()).Line)
}

// imports returns the import paths of the file with the names under which they are used.
func (f *File) imports() map[string]string {
	found := map[string]string{}
	for _, spec := range f.syntax.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // it was parsed, so it is a string
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		found[imported] = name
	}
	return found
}

// each calls visit for every node of the file.
func (f *File) each(visit func(ast.Node)) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if n != nil {
			visit(n)
		}
		return true
	})
}
