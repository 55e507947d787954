package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// axeSource is axe-core, which checks a page for what keeps people out.
var axeSource = sync.OnceValues(func() (string, error) {
	data, err := os.ReadFile(filepath.Join("app", "node_modules", "axe-core", "axe.min.js"))
	return string(data), err
})

// Accessible wants no violation of axe-core's default rules, all of them.
func (p *Page) Accessible(when string) {
	p.T.Helper()
	source, err := axeSource()
	if err != nil {
		Need(p.T, "the modules of e2e/app are not installed")
	}
	if !Get[bool](p, `typeof axe === "object"`) {
		p.Do(source + "; 0")
	}
	found := Get[[]struct {
		ID, Help string
		Nodes    []struct {
			HTML           string
			FailureSummary string
		}
	}](p, `axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations)`)
	for _, v := range found {
		var where []string
		for _, n := range v.Nodes {
			where = append(where, fmt.Sprintf("%.300s\n    %s", n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", "\n    ")))
		}
		p.T.Errorf("%s, %s: %s: %s\n  %s", p.Name, when, v.ID, v.Help, strings.Join(where, "\n  "))
	}
}
