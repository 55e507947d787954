package shim

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the module's path.
const module = "github.com/slidewrite/slidewrite"

// importRules says which packages of ours each package may import: downwards
// only. A trailing /... takes the packages below along. A package that is not
// here fails the test: it has to be given a place first.
var importRules = map[string][]string{
	"shim/lazyregexp":        {}, // which everybody may import
	"shim/event":             {},
	"shim/prompt":            {"shim/event"},
	"shim/gitrepo":           {},
	"shim/state":             {},
	"shim/sse":               {"shim/event"},
	"shim/ask":               {"shim/event"},
	"shim/agent":             {"shim/event"},
	"shim/image":             {"shim/event"},
	"shim/pair":              {},
	"shim/browser":           {},
	"shim/demoapp":           {},
	"shim/tools":             {"shim/ask", "shim/event"},
	"shim/history":           {"shim/agent", "shim/event"},
	"shim/catalog":           {"shim/agent", "shim/agent/process"},
	"shim/doctor":            {"shim/agent", "shim/browser", "shim/catalog", "shim/gitrepo", "shim/state"},
	"shim/run":               {"shim/agent", "shim/agent/process", "shim/ask", "shim/event", "shim/gitrepo", "shim/history", "shim/image", "shim/prompt", "shim/state"},
	"shim/server":            {"shim/ask", "shim/catalog", "shim/event", "shim/gitrepo", "shim/history", "shim/pair", "shim/prompt", "shim/run", "shim/sse", "shim/tools"},
	"shim/server/servertest": {"shim/run", "shim/server", "shim/sse"},
	"shim":                   {"shim/..."},
	"shim/cli":               {"shim", "shim/...", "extension", "fakeagents", "fakeagents/..."},
	"cmd/slidewrite":         {"shim/cli"},

	// The files of the browser, and what writes them to a folder.
	"extension": {},

	// Adapters never see each other, a run, or HTTP.
	"shim/agent/process":   {"shim/agent"},
	"shim/agent/claude":    {"shim/agent", "shim/agent/process", "shim/event"},
	"shim/agent/codex":     {"shim/agent", "shim/agent/process", "shim/event"},
	"shim/agent/grok":      {"shim/agent", "shim/agent/process", "shim/event"},
	"shim/agent/agenttest": {"shim/agent", "shim/event", "fakeagents", "fakeagents/fixtures"},

	// The stage that tests of the whole shim stand on; never in a binary.
	"shim/shimtest": {"shim", "shim/event", "shim/sse", "fakeagents", "fakeagents/fixtures"},
	"golden":        {"shim/event", "shim/sse"},
	"e2e":           {"shim", "shim/event", "shim/shimtest", "shim/server", "shim/sse", "fakeagents", "extension"},

	// make bench: the repository it measures in, and its report.
	"shim/shimtest/benchrepo":   {},
	"shim/shimtest/benchreport": {"shim/shimtest/benchrepo"},

	// make check: go vet for several systems.
	"shim/shimtest/vetall": {},

	// What the fakes demand of a command line is written down a second time,
	// on purpose: they see nothing of the shim.
	"fakeagents":             {},
	"fakeagents/fixtures":    {"fakeagents"},
	"fakeagents/scriptmodel": {},
	"fakeagents/drift":       {"fakeagents", "golden", "shim/agent", "shim/event"},
	"fakeagents/record":      {"fakeagents", "fakeagents/scriptmodel", "shim/agent", "shim/agent/...", "shim/event"},
}

// forbidden are packages of the standard library that a package must not use,
// with the reason.
var forbidden = []struct{ pkg, imports, because string }{
	{"shim/run", "net/http", "a run never sees HTTP"},
	{"shim/agent/claude", "net/http", "adapters never see HTTP"},
	{"shim/agent", "net/http", "adapters never see HTTP"},
	{"shim/server", "os/exec", "the server never starts a process"},
	{"shim/run", "os/exec", "processes start in agent/process, git in gitrepo"},
	{"shim/prompt", "os", "the prompt is a pure function"},
	{"shim/event", "os", "events are data"},
}

// sources parses the imports of every Go file of the module that is not a
// test, whatever its build constraints: package → import path → file.
func sources(t *testing.T) map[string]map[string]string {
	t.Helper()
	return parse(t, func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
}

// sourcesWithTests is sources with the tests.
func sourcesWithTests(t *testing.T) map[string]map[string]string {
	t.Helper()
	return parse(t, func(string) bool { return true })
}

func parse(t *testing.T, keep func(name string) bool) map[string]map[string]string {
	t.Helper()
	root := ".."
	found := map[string]map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || (strings.HasPrefix(d.Name(), ".") && p != root)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") || !keep(p) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(p))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if found[pkg] == nil {
			found[pkg] = map[string]string{}
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found[pkg][name] = p
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestImportsGoDownwardsOnly holds the tree to the map in doc.go.
func TestImportsGoDownwardsOnly(t *testing.T) {
	found := sources(t)
	if len(found["shim"]) == 0 {
		t.Fatal("package shim was not found: the test looks in the wrong place")
	}
	for pkg, imports := range found {
		rule, known := importRules[ruleFor(pkg)]
		if !known {
			t.Errorf("package %s has no place in importRules: say what it may import", pkg)
			continue
		}
		for name, file := range imports {
			ours, ok := strings.CutPrefix(name, module+"/")
			if ok && ours != "shim/lazyregexp" && !slices.ContainsFunc(rule, func(allowed string) bool { return covers(allowed, ours) }) {
				t.Errorf("%s: %s must not import %s (allowed: %s)", file, pkg, ours, strings.Join(rule, ", "))
			}
		}
	}
}

// ruleFor maps a command of the recorder to its package: what is under
// record/ follows record's rule and may import record itself.
func ruleFor(pkg string) string {
	if strings.HasPrefix(pkg, "fakeagents/record/") {
		return "shim/cli" // a command: it wires
	}
	return pkg
}

// covers tells whether an entry of a rule allows a package.
func covers(allowed, pkg string) bool {
	if below, ok := strings.CutSuffix(allowed, "/..."); ok {
		return strings.HasPrefix(pkg, below+"/")
	}
	return allowed == pkg
}

// TestWhatPackagesMustNotUse keeps I/O where it belongs.
func TestWhatPackagesMustNotUse(t *testing.T) {
	found := sources(t)
	for _, f := range forbidden {
		if file, ok := found[f.pkg][f.imports]; ok {
			t.Errorf("%s imports %s: %s", file, f.imports, f.because)
		}
	}
}

// TestOnlyTheWiringNamesAdapters keeps the list of agents in one place.
func TestOnlyTheWiringNamesAdapters(t *testing.T) {
	adapters := []string{"shim/agent/claude", "shim/agent/codex", "shim/agent/grok"}
	for pkg, imports := range sources(t) {
		if pkg == "shim" || strings.HasPrefix(pkg, "fakeagents/record") {
			continue
		}
		for _, a := range adapters {
			if file, ok := imports[path.Join(module, a)]; ok {
				t.Errorf("%s: only shim.go names an adapter", file)
			}
		}
	}
}

// TestThePackageMapIsComplete asks doc.go for every package there is.
func TestThePackageMapIsComplete(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range sources(t) {
		name := strings.TrimPrefix(pkg, "shim/")
		if pkg == "shim" || strings.HasPrefix(pkg, "fakeagents/record/") {
			continue
		}
		if !strings.Contains(string(doc), name) {
			t.Errorf("doc.go does not name %s", pkg)
		}
	}
}
