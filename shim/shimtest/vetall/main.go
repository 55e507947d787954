// Vetall is go vet for several systems in one process:
//
//	go run ./shim/shimtest/vetall -systems linux,windows,darwin ./...
//
// It checks the types of the named packages and of their tests, as the
// compiler does, and runs the analyzers of go vet on them. What they import
// from other modules is read from source and only declared: go vet compiles
// all of it first, Go's own library included, and analyzes that, too, which
// takes more than ten times as long. What its analyzers would learn there is
// which functions print like Printf (printers names those we use) and which
// do not return.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/errors"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

// printers are functions of other modules that take a format, beside those of
// Go's library, which the analyzer knows.
const printers = "github.com/cockroachdb/errors.Errorf,github.com/cockroachdb/errors.Newf," +
	"github.com/cockroachdb/errors.WithHintf,github.com/cockroachdb/errors.Wrapf"

func main() {
	systems := flag.String("systems", runtime.GOOS, "GOOS of each system, with commas")
	flag.Parse()
	if err := printf.Analyzer.Flags.Set("funcs", printers); err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	var failed sync.Map
	for system := range strings.SplitSeq(*systems, ",") {
		wg.Go(func() {
			for _, problem := range check(system, ".", flag.Args()...) {
				fmt.Fprintf(os.Stderr, "%s: %s\n", system, problem)
				failed.Store(system, true)
			}
		})
	}
	wg.Wait()
	failed.Range(func(any, any) bool { os.Exit(1); return false })
}

// check loads and analyzes the packages for a system, from the folder dir, and
// returns what is wrong.
func check(system, dir string, patterns ...string) []string {
	l := &loader{fset: token.NewFileSet(), parsed: map[*packages.Package][]*ast.File{}}
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypesSizes | packages.NeedModule | packages.NeedEmbedFiles,
		Dir:   dir,
		Env:   append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
		Fset:  l.fset,
		Tests: true,
	}, patterns...)
	if err != nil {
		return []string{err.Error()}
	}
	// A package with tests is there twice: alone, for those that import it,
	// and with its tests, which is looked at. The mains of tests are made.
	withTests := map[string]bool{}
	for _, p := range roots {
		if p.ID != p.PkgPath && !strings.HasSuffix(p.PkgPath, "_test") {
			withTests[p.PkgPath] = true
		}
	}
	roots = slices.DeleteFunc(roots, func(p *packages.Package) bool {
		return strings.HasSuffix(p.ID, ".test") || p.ID == p.PkgPath && withTests[p.PkgPath]
	})
	if len(roots) == 0 {
		return []string{"no package is named"}
	}
	l.load(roots)
	if len(l.problems) > 0 {
		return l.problems
	}
	graph, err := checker.Analyze(vet.Suite, roots, nil)
	if err != nil {
		return []string{err.Error()}
	}
	for _, action := range graph.Roots {
		if action.Err != nil {
			l.problem("%s: %v", action, action.Err)
		}
		for _, d := range action.Diagnostics {
			l.problem("%s: %s", l.fset.Position(d.Pos), d.Message)
		}
	}
	return l.problems
}

// loader gives packages their syntax and types.
type loader struct {
	fset *token.FileSet

	mu       sync.Mutex // for what follows
	parsed   map[*packages.Package][]*ast.File
	problems []string
}

func (l *loader) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.problems, text) {
		l.problems = append(l.problems, text)
	}
}

// ours tells whether a package is of this module.
func ours(p *packages.Package) bool { return p.Module != nil && p.Module.Main }

func (l *loader) load(roots []*packages.Package) {
	work := make(chan *packages.Package)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for p := range work {
				l.parse(p)
			}
		})
	}
	packages.Visit(roots, func(p *packages.Package) bool { work <- p; return true }, nil)
	close(work)
	wg.Wait()
	packages.Visit(roots, nil, l.types)
}

// parse reads a package's files.
func (l *loader) parse(p *packages.Package) {
	for _, err := range p.Errors {
		l.problem("%v", err)
	}
	mode := parser.SkipObjectResolution
	if ours(p) {
		mode |= parser.ParseComments
	}
	var files []*ast.File
	for _, name := range p.CompiledGoFiles {
		file, err := parser.ParseFile(l.fset, name, nil, mode)
		if err != nil {
			l.problem("%v", err)
		}
		files = append(files, file)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parsed[p] = files
}

// types checks a package whose imports have been checked.
func (l *loader) types(p *packages.Package) {
	p.Fset = l.fset
	if p.PkgPath == "unsafe" {
		p.Types = types.Unsafe
		return
	}
	own := ours(p)
	config := types.Config{
		Sizes:            p.TypesSizes,
		IgnoreFuncBodies: !own,
		Error:            func(err error) { l.problem("%v", err) },
		Importer: importer(func(path string) (*types.Package, error) {
			if path == "unsafe" {
				return types.Unsafe, nil
			}
			if dep := p.Imports[path]; dep != nil && dep.Types != nil {
				return dep.Types, nil
			}
			return nil, errors.Newf("%s: %s cannot be imported", p.PkgPath, path)
		}),
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	p.Syntax = l.parsed[p]
	if own {
		p.TypesInfo = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
			Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
		}
	}
	p.Types = types.NewPackage(p.PkgPath, p.Name)
	_ = types.NewChecker(&config, l.fset, p.Types, p.TypesInfo).Files(p.Syntax) // Error has it
	// The analyzers follow the imports: to ours only.
	for path, dep := range p.Imports {
		if !ours(dep) {
			delete(p.Imports, path)
		}
	}
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
