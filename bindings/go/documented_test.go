// SPDX-License-Identifier: MIT
// Whatever the package exports is explained where it is declared: go doc is its reference.

package liblock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"
)

// undocumented are the exported names of a file's declarations that no comment explains. Members of a group of
// constants or fields are explained by the group's comment.
func undocumented(file *ast.File) (names []string) {
	add := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		for _, doc := range docs {
			if doc.Text() != "" {
				return
			}
		}
		if name.IsExported() {
			names = append(names, name.Name)
		}
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || receiverIsExported(d) {
				add(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name, s.Doc, d.Doc)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add(name, s.Doc, s.Comment, d.Doc)
					}
				}
			}
		}
	}
	return names
}

func receiverIsExported(method *ast.FuncDecl) bool {
	of := method.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	name, ok := of.(*ast.Ident)
	return ok && name.IsExported()
}

func TestEveryExportedNameIsExplained(t *testing.T) {
	bare := "package p\nfunc A() {}\n// B is explained.\ntype B int\nfunc (b *B) C() {}\nfunc (x y) D() {}\nconst E = 1"
	file, err := parser.ParseFile(token.NewFileSet(), "bare.go", bare, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if found := strings.Join(undocumented(file), " "); found != "A C E" {
		t.Fatal("the search itself finds ", found)
	}
	ours := func(entry fs.FileInfo) bool { return !strings.HasSuffix(entry.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), ".", ours, parser.ParseComments)
	if err != nil || packages["liblock"] == nil {
		t.Fatal(err, packages)
	}
	for path, file := range packages["liblock"].Files {
		for _, name := range undocumented(file) {
			t.Errorf("%s: %s has no comment", path, name)
		}
	}
}
