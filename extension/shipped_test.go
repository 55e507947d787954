package extension

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slidewrite/slidewrite/shim/server"
)

// forDevelopment is what lies beside the shipped files, and is not shipped.
var forDevelopment = regexp.MustCompile(`^(.*\.go|tsconfig\.json|package(-lock)?\.json|node_modules|\.gitignore|.*\.d\.ts)$`)

// shipped are the embedded files by their paths.
func shipped(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(Files(), name)
		all[name] = string(data)
		return err
	})
	if err != nil || len(all) < 10 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all
}

// Every file of the source tree is shipped, or is for development.
func TestEveryFileIsShipped(t *testing.T) {
	all := shipped(t)
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case !strings.Contains(name, "/") && forDevelopment.MatchString(name):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		if _, ok := all[name]; !ok {
			t.Errorf("%s is neither embedded nor known as a file for development", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range all {
		switch path.Ext(name) {
		case ".js", ".html", ".css", ".json", ".png", ".svg":
		default:
			t.Errorf("%s: a kind of file that an extension does not need", name)
		}
	}
}

// The references from one file to others. What a type is imported by, in a
// comment, is none.
var (
	comments    = regexp.MustCompile(`(?s:/\*.*?\*/)|(?m:^\s*//.*$)`)
	ofMarkup    = regexp.MustCompile(`(?:href|src)="([^"#]+)"`)
	ofStyle     = regexp.MustCompile(`url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)`)
	ofScript    = regexp.MustCompile(`(?m)(?:^|[\s;}(])(?:from|import)\s*\(?\s*["']([^"'\n]+)["']`)
	stringsOf   = regexp.MustCompile(`["']([\w./-]+)["']`)
	noCode      = regexp.MustCompile(`^\s*(export\s*\{\s*\}\s*;?)?\s*$`) // but for types, in comments
	isFile      = regexp.MustCompile(`\.(js|html|css|png|svg)$`)
	relativeRef = regexp.MustCompile(`^\.{0,2}/`)
)

// references are the files that a file names, as paths from the top.
func references(t *testing.T, all map[string]string, name string) (found []string) {
	text := all[name]
	relative := func(ref string) {
		if strings.HasPrefix(ref, "//") || strings.Contains(ref, ":") {
			t.Errorf("%s refers to %s: everything it needs is in the extension", name, ref)
			return
		}
		at := path.Join(path.Dir(name), ref)
		if _, ok := all[at]; !ok {
			t.Errorf("%s refers to %s, which is not there", name, ref)
		}
		found = append(found, at)
	}
	each := func(re *regexp.Regexp, in string, do func(string)) {
		for _, m := range re.FindAllStringSubmatch(in, -1) {
			do(strings.Join(m[1:], ""))
		}
	}
	switch path.Ext(name) {
	case ".html":
		each(ofMarkup, text, relative)
	case ".css":
		each(ofStyle, comments.ReplaceAllString(text, ""), relative)
	case ".js":
		text = comments.ReplaceAllString(text, "")
		each(ofScript, text, func(ref string) {
			if !relativeRef.MatchString(ref) {
				t.Errorf("%s imports %q: the browser finds only ./ and ../", name, ref)
			}
			relative(ref)
		})
	}
	if ext := path.Ext(name); ext == ".js" || ext == ".json" {
		each(stringsOf, text, func(s string) { // chrome.runtime.getURL and the manifest count from the top
			if _, ok := all[s]; ok {
				found = append(found, s)
			} else if name == manifestName && isFile.MatchString(s) {
				t.Errorf("the manifest names %s, which is not there", s)
			}
		})
	}
	return found
}

// From the manifest on, every file is named by another one.
func TestEveryShippedFileIsReached(t *testing.T) {
	all := shipped(t)
	reached := map[string]bool{}
	for next := []string{manifestName}; len(next) > 0; next = next[1:] {
		if name := next[0]; !reached[name] {
			reached[name] = true
			next = append(next, references(t, all, name)...)
		}
	}
	for name, text := range all {
		typesOnly := path.Ext(name) == ".js" && noCode.MatchString(comments.ReplaceAllString(text, ""))
		if !reached[name] && !typesOnly {
			t.Errorf("%s is shipped, and nothing names it", name)
		}
	}
}

// What must not be in a shipped text, and why.
var never = []struct {
	kinds   string
	pattern *regexp.Regexp
	because string
}{
	{".js", regexp.MustCompile(`\b(innerHTML|outerHTML|insertAdjacentHTML|srcdoc|setHTML\w*|createContextualFragment|parseFromString|parseHTML\w*|document\.write\w*)\b`), "markup is made by DOM calls, never from strings"},
	{".js", regexp.MustCompile(`\b(eval|Function)\s*\(|\bset(Timeout|Interval)\s*\(\s*["'` + "`" + `]|\bimportScripts\b`), "no code is made from strings"},
	{".js.html", regexp.MustCompile(`(?i)\bjavascript:[^ ]`), "no code is made from strings"},
	{".js", regexp.MustCompile(`\bnew (WebSocket|EventSource|XMLHttpRequest)\b|\bsendBeacon\b`), "the shim is called by fetch"},
	{".js", regexp.MustCompile(`\b(localStorage|sessionStorage|chrome\.storage\.sync)\b`), "settings are in chrome.storage.local, and nowhere else"},
	{".html", regexp.MustCompile(`(?i)<script(?:\s+type="module")?\s*>`), "no script stands in the page"},
	{".html", regexp.MustCompile(`(?i)<[^>]*\son[a-z]+\s*=`), "no handler stands in the page"},
	{".html", regexp.MustCompile(`(?i)<(iframe|object|embed|base|form[^>]*\saction)\b`), "nothing is loaded from elsewhere, nor sent there"},
	{".js.html.css.json.svg", regexp.MustCompile("\r"), "lines end with LF"},
	{".svg", regexp.MustCompile(`(?i)<script|\son[a-z]+\s*=|<foreignObject|\bhref\s*=`), "a picture is a picture"},
	// Control characters, directions, and characters without a width: text that
	// is not what it looks like.
	{".js.html.css.json.svg", regexp.MustCompile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u0080-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"), "write it as an escape"},
}

// addresses are what a text has of them, with the host behind the scheme.
var addresses = regexp.MustCompile(`(?i)\b(?:https?|wss?|ftps?):/{2}([^\s"'` + "`" + `<>()/]*)`)

// harmless are the hosts that a text may name: this machine, a namespace that
// nobody loads, and a scheme alone.
var harmless = regexp.MustCompile(`^(?:(?:[\w*-]+\.)*localhost(?::\d+)?\.?|127\.0\.0\.1(?::\d+)?\.?|\[::1\](?::\d+)?|www\.w3\.org|…)?$`)

func TestShippedTexts(t *testing.T) {
	for name, text := range shipped(t) {
		ext := path.Ext(name)
		if ext == ".png" {
			continue
		}
		if !utf8.ValidString(text) {
			t.Errorf("%s is not UTF-8", name)
		}
		for _, rule := range never {
			if strings.Contains(rule.kinds+".", ext+".") {
				if at := rule.pattern.FindStringIndex(text); at != nil {
					t.Errorf("%s:%d has %q: %s", name, 1+strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]], rule.because)
				}
			}
		}
		for _, m := range addresses.FindAllStringSubmatch(text, -1) {
			if !harmless.MatchString(m[1]) {
				t.Errorf("%s names %s: nothing is loaded from elsewhere", name, m[0])
			}
		}
	}
}

// The rules above find what they are for.
func TestRulesOfShippedTexts(t *testing.T) {
	for text, want := range map[string]int{
		"el.innerHTML = x": 0, "x.insertAdjacentHTML('a', b)": 0, "new DOMParser().parseFromString(x)": 0, "document.write(x)": 0,
		"eval(x)": 1, "new Function('x')": 1, "setTimeout('x', 1)": 1, "a.href = 'javascript:x'": 2, "new WebSocket(x)": 3, "localStorage.x": 4,
		"<script>x</script>": 5, `<script type="module">x`: 5, `<a onclick="x">`: 6, "<iframe src=x>": 7, "a\r\n": 8, "\u202e": 10, "\u200b": 10, "\x1b": 10,
	} {
		if !never[want].pattern.MatchString(text) {
			t.Errorf("%q is not found", text)
		}
	}
	for _, text := range []string{"evaluate(x)", "retrieval (x)", "callFunction(x)", "setTimeout(run, 1)", `<script type="module" src="a.js"></script>`, `<button data-on="x">`, "one\ttwo\n", "…→“”"} {
		for _, rule := range never {
			if rule.kinds != ".svg" && rule.pattern.MatchString(text) {
				t.Errorf("%q is taken for something bad: %s", text, rule.because)
			}
		}
	}
	for address, fine := range map[string]bool{
		"http://localhost:5173": true, "http://127.0.0.1:4040": true, "https://": true, "http://shop.localhost:3000": true, "http://[::1]:1": true,
		"http://www.w3.org/2000/svg": true, "https://cdn.example.com/x.js": false, "wss://a.test": false, "http://localhost.evil.test": false,
	} {
		m := addresses.FindStringSubmatch(address)
		if m == nil || harmless.MatchString(m[1]) != fine {
			t.Errorf("%s: %q, want fine %v", address, m, fine)
		}
	}
}

// The manifest: the id that the shim lets in, the version of the binary, and
// the permissions that the README gives reasons for.
func TestManifest(t *testing.T) {
	all := shipped(t)
	var m struct {
		Key         string
		Version     string
		Permissions []string
		Optional    []string `json:"optional_permissions"`
		Hosts       []string `json:"host_permissions"`
		Policy      any      `json:"content_security_policy"`
		Outward     any      `json:"externally_connectable"`
		Reachable   any      `json:"web_accessible_resources"`
	}
	if err := json.Unmarshal([]byte(all[manifestName]), &m); err != nil {
		t.Fatal(err)
	}
	if m.Key != server.ExtensionKey {
		t.Error("the key is not server.ExtensionKey: the shim would not let this extension in")
	}
	makefile, err := os.ReadFile(filepath.Join("..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	binary := regexp.MustCompile(`(?m)^VERSION \?= (\S+)$`).FindStringSubmatch(string(makefile))
	if binary == nil || m.Version != numbers(binary[1]) {
		t.Errorf("the version is %s, that of the Makefile %q", m.Version, binary)
	}
	slices.Sort(m.Permissions)
	if got := strings.Join(m.Permissions, " "); got != "debugger scripting sidePanel storage tabs" {
		t.Errorf("permissions: %s", got)
	}
	if got := strings.Join(m.Optional, " "); got != "notifications" {
		t.Errorf("optional permissions: %s", got)
	}
	if got := strings.Join(m.Hosts, " "); got != "<all_urls>" {
		t.Errorf("host permissions: %s", got)
	}
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slices.Concat(m.Permissions, m.Optional, m.Hosts) {
		if !strings.Contains(string(readme), "\n| `"+p+"` |") {
			t.Errorf("README.md gives no reason for the permission %s", p)
		}
	}
	if m.Policy != nil || m.Outward != nil || m.Reachable != nil {
		t.Errorf("the policy is Chromium's own, and no page reaches in: %v %v %v", m.Policy, m.Outward, m.Reachable)
	}
}

func TestManifestOfABinary(t *testing.T) {
	var source map[string]any
	if err := json.Unmarshal([]byte(shipped(t)[manifestName]), &source); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "v1.2": "1.2", "1.2.3-rc.1+abc": "1.2.3", "1.2.3.4.5": "1.2.3.4", "0.1.0-7-gabcdef": "0.1.0", "01.02": "1.2", "7": "7",
		"0.0.0": source["version"].(string), "devel": source["version"].(string), "70000.1": source["version"].(string), "1.70000": "1", "1..2": "1",
	} {
		all, err := contents(version)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(all[manifestName], &m); err != nil {
			t.Fatal(err)
		}
		if m["version"] != want || m["version_name"] != version {
			t.Errorf("%s: version %v, version_name %v, want %s", version, m["version"], m["version_name"], want)
		}
		if !strings.Contains(string(all[manifestName]), `"<all_urls>"`) {
			t.Errorf("%s: the manifest is hard to read:\n%s", version, all[manifestName])
		}
		for name := range source {
			if _, ok := m[name]; !ok {
				t.Errorf("%s: %s is lost", version, name)
			}
		}
	}
}
