package drift

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/claude"
	"github.com/slidewrite/slidewrite/shim/agent/codex"
	"github.com/slidewrite/slidewrite/shim/agent/grok"
)

const fixtures = "../fixtures"

var adapters = []agent.Agent{claude.New(), codex.New(codex.Options{}), grok.New(grok.Options{})}

// recorded are the two versions of claude there are, read once.
var recorded = sync.OnceValues(func() (sides [2]*Side, err error) {
	for i, name := range []string{"claude@2.1.197", "claude@2.1.332"} {
		if sides[i], err = Open(name, fixtures); err != nil {
			return sides, err
		}
	}
	return sides, nil
})

func compare(t testing.TB, a, b *Side) *Report {
	t.Helper()
	r, err := Compare(a, b, adapters)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// findingOf is the finding about a path on stdout, or on disk where says.
func findingOf(r *Report, where, what, path string) *Finding {
	for i, f := range r.Findings {
		if f.Where == where && f.What == what && f.Path == path {
			return &r.Findings[i]
		}
	}
	return nil
}

// TestWhatChangedFrom197To332 asks for what people found when they compared the
// two by hand: it must come out of the recordings alone.
func TestWhatChangedFrom197To332(t *testing.T) {
	t.Parallel()
	sides, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	r := compare(t, sides[0], sides[1])
	const disk = "*.jsonl"
	for _, want := range []struct {
		about, where, what, path string
		class                    Class
		example                  string
	}{
		{"sub-agents run in the background", stdout, "added", "system/background_tasks_changed", NewIgnored, "captured/agent"},
		{"", stdout, "added", "system/task_started:is_backgrounded", NewIgnored, "captured/agent"},
		{"", stdout, "values", "user:tool_use_result(Agent).status", Values, "captured/agent"},
		{"and bring a second result and a second init", stdout, "more", "result", Counts, "captured/agent"},
		{"", stdout, "more", "system/init", Counts, "captured/agent"},
		{"the shell says which files it changed", stdout, "added", "user:tool_use_result(Bash).bashEditDiff", NewMapped, ""},
		{"", disk, "added", "user:toolUseResult(Bash).bashEditDiff", NewMapped, ""},
		{"a result no longer begins with its type", stdout, "keys", "result", Order, ""},
		{"the cost is the session's", stdout, "cumulative", "result:total_cost_usd", Counts, "captured/r-2-resume"},
		{"and so is the usage", stdout, "cumulative", "result:modelUsage.*.inputTokens", Counts, "captured/r-2-resume"},
		{"the run's own is somewhere else, and read", stdout, "added", "result:model_usage_since_last_result", NewMapped, ""},
		{"new system subtypes", stdout, "added", "system/permission_denied", NewIgnored, ""},
		{"", stdout, "added", "system/informational", NewMapped, ""},
		{"tools came and went", stdout, "values", "system/init:tools[]", Values, ""},
		{"stream lines name their message", stdout, "added", "stream_event:api_message_id", NewUnmapped, ""},
		{"an interrupted answer is marked", stdout, "added", "assistant:aborted", NewUnmapped, ""},
		{"stdout is no longer cut", stdout, "gone", "(not JSON)", LostUnmapped, "captured/bigtext"},
		{"new records on disk", disk, "added", "cost-state", NewUnmapped, ""},
		{"", disk, "added", "api-request", NewUnmapped, ""},
		{"", disk, "added", "attachment:attachment[prompt_snapshot]", NewUnmapped, ""},
		{"other models", stdout, "values", "system/init:model", Values, ""},
	} {
		f := findingOf(r, want.where, want.what, want.path)
		if f == nil {
			t.Errorf("%s: %s %s %s was not found", want.about, want.where, want.what, want.path)
			continue
		}
		if f.Class != want.class || want.example != "" && f.Example != want.example {
			t.Errorf("%s: %s is %s (%s), want %s (%s)", want.about, f.Path, f.Class, f.Example, want.class, want.example)
		}
	}
	tools := findingOf(r, stdout, "values", "system/init:tools[]")
	if want := []string{"TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskUpdate"}; !slices.Equal(tools.Gone, want) {
		t.Errorf("tools that went: %v, want %v", tools.Gone, want)
	}
	if want := []string{"ListAgents", "Monitor", "ToolSearch"}; !slices.Equal(tools.Added, want) {
		t.Errorf("tools that came: %v, want %v", tools.Added, want)
	}
	// Slide Write drives both versions: nothing it hangs on is gone.
	if r.Lost() {
		t.Errorf("lost-mapped: %s", r.Text(false))
	}
	// A cut stream is retried ten times before it is given up.
	if i := slices.IndexFunc(r.Scenarios, func(row Row) bool { return row.Scenario == "real/break-once" }); i < 0 || r.Scenarios[i].Added["note"] == 0 {
		t.Errorf("the events of real/break-once: %+v", r.Scenarios)
	}
	checkText(t, r)
}

// checkText: the report is for a screen. One line a finding, what nobody has to
// look at is counted, and shown when asked for.
func checkText(t *testing.T, r *Report) {
	t.Helper()
	short, all := r.Text(false), r.Text(true)
	for _, want := range []string{
		"claude 2.1.197 -> 2.1.332: 107 scenarios compared\n",
		"only in claude@2.1.197: 1 scenario, not compared (captured/r-8-othercwd)\n",
		"\n  system/init:tools[]: +ListAgents +Monitor +ToolSearch -TaskCreate",
		"that nobody has to look at: --all\n",
	} {
		if !strings.Contains(short, want) {
			t.Errorf("the report lacks %q:\n%s", want, short)
		}
	}
	if strings.Contains(short, "bashEditDiff") || !strings.Contains(all, "user:tool_use_result(Bash).bashEditDiff (") {
		t.Error("what is read already is for --all")
	}
	if n := strings.Count(short, "\n"); n > 90 {
		t.Errorf("the report has %d lines", n)
	}
}

// A side beside itself has no drift, whosever it is.
func TestNothingDriftsFromItself(t *testing.T) {
	t.Parallel()
	for _, name := range []string{fixtures + "/codex/made/0.40.0", fixtures + "/claude/made/2.1.332", fixtures + "/grok"} {
		a, err := Open(name, fixtures)
		if err != nil {
			t.Fatal(err)
		}
		if r := compare(t, a, a); len(r.Findings)+len(r.Scenarios)+len(r.OnlyA) > 0 || r.Compared == 0 {
			t.Errorf("%s: %s", name, r.Text(true))
		}
	}
}

// capture writes one capture of claude and returns its folder.
func capture(t testing.TB, version, name string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "claude-"+version, name)
	for file, data := range files {
		p := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A small run: what it prints, and its transcript.
const (
	run = `{"type":"system","subtype":"init","session_id":"{{SESSION}}","cwd":"{{REPO}}","model":"m-one","tools":["Edit","Bash"]}
{"type":"assistant","message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":"I will look."}],"usage":{"input_tokens":10,"output_tokens":1}},"parent_tool_use_id":null,"uuid":"{{UUID:1}}"}
{"type":"assistant","message":{"id":"msg_1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Edit","input":{"file_path":"{{REPO}}/a.txt","old_string":"a","new_string":"b"}}],"usage":{"input_tokens":10,"output_tokens":1}},"parent_tool_use_id":null,"uuid":"{{UUID:2}}"}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"done"}]},"parent_tool_use_id":null,"uuid":"{{UUID:3}}","tool_use_result":{"filePath":"{{REPO}}/a.txt","userModified":false}}
{"type":"result","subtype":"success","is_error":false,"duration_ms":100,"num_turns":2,"result":"Done.","session_id":"{{SESSION}}","total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":5},"modelUsage":{"claude-x":{"inputTokens":10,"costUSD":0.5}}}
`
	transcript = `{"type":"user","message":{"role":"user","content":"Change a to b."},"uuid":"{{UUID:1}}","timestamp":"{{TIME}}","cwd":"{{REPO}}","isSidechain":false,"sessionId":"{{SESSION}}"}
{"type":"assistant","message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}},"uuid":"{{UUID:2}}","timestamp":"{{TIME}}","cwd":"{{REPO}}","isSidechain":false,"sessionId":"{{SESSION}}"}
`
)

func side(t testing.TB, version, stdout, transcript string) *Side {
	t.Helper()
	files := map[string]string{"stdout.jsonl": stdout}
	if transcript != "" {
		files["disk/{{REPO_ENC}}/{{SESSION}}.jsonl"] = transcript
	}
	s, err := Open(capture(t, version, "run", files), fixtures)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestClasses changes one thing of a run each, and asks what drift makes of it.
func TestClasses(t *testing.T) {
	t.Parallel()
	onDisk := func(r string) string { return "disk " + r }
	for _, c := range []struct {
		name, old, new string
		want           []string // class what path
	}{
		// What we hang on.
		{"the id of a call", `"tool_use_id":"toolu_1",`, ``, []string{
			"lost-mapped gone user:message.content[tool_result].tool_use_id", "lost-unmapped gone user:tool_use_result(Edit)"}},
		{"a whole line", `{"type":"result",`, `{"type":"outcome",`, []string{"lost-mapped gone result", "new-unmapped added outcome"}},
		{"a field by another name", `"file_path"`, `"path_of_file"`, []string{"lost-mapped gone assistant:message.content[tool_use].input(Edit).file_path",
			"new-unmapped added assistant:message.content[tool_use].input(Edit).path_of_file"}},
		{"another kind", `"num_turns":2`, `"num_turns":"two"`, []string{"lost-mapped retyped result:num_turns"}},
		{"another kind that is read", `"content":"done"`, `"content":[{"type":"text","text":"done"}]`, []string{"new-mapped retyped user:message.content[tool_result].content"}},
		// What nobody misses.
		{"a field nobody reads", `,"userModified":false`, ``, []string{"lost-unmapped gone user:tool_use_result(Edit).userModified"}},
		{"a kind nobody reads", `"userModified":false`, `"userModified":"no"`, []string{"new-ignored retyped user:tool_use_result(Edit).userModified"}},
		// What is new.
		{"a field beside others", `"num_turns":2`, `"num_turns":2,"mood":"good"`, []string{"new-unmapped added result:mood"}},
		{"a field in a corner", `"userModified":false`, `"userModified":false,"mood":"good"`, []string{"new-ignored added user:tool_use_result(Edit).mood"}},
		{"a field that is read", `"num_turns":2`, `"num_turns":2,"model_usage_since_last_result":{"claude-x":{"costUSD":0.25}}`, []string{"new-mapped added result:model_usage_since_last_result"}},
		{"a content block", `{"type":"text","text":"I will look."}`, `{"type":"text","text":"I will look."},{"type":"hologram","url":"x"}`, []string{"new-unmapped added assistant:message.content[hologram]"}},
		{"a line", `{"type":"user",`, `{"type":"rumour","text":"x"}` + "\n" + `{"type":"user",`, []string{"new-unmapped added rumour"}},
		{"a system line", `{"type":"user",`, `{"type":"system","subtype":"mood"}` + "\n" + `{"type":"user",`, []string{"new-unmapped added system/mood"}},
		{"a system line that is known", `{"type":"user",`, `{"type":"system","subtype":"status"}` + "\n" + `{"type":"user",`, []string{"new-ignored added system/status"}},
		{"an event of a stream", `{"type":"user",`, `{"type":"stream_event","event":{"type":"ping"}}` + "\n" + `{"type":"user",`, []string{"new-ignored added stream_event"}},
		{"no JSON", `{"type":"user",`, "Warning: x\n" + `{"type":"user",`, []string{"new-unmapped added (not JSON)"}},
		// Words, order, counts.
		{"a word", `"Edit","Bash"`, `"Edit","Knit"`, []string{"values values system/init:tools[] +Knit -Bash"}},
		{"keys", `{"type":"result","subtype":"success",`, `{"subtype":"success","type":"result",`, []string{"order keys result"}},
		// On disk.
		{"where a session was", onDisk(`"cwd":"{{REPO}}",`), ``, []string{"lost-mapped gone assistant:cwd", "lost-mapped gone user:cwd"}},
		{"a record", onDisk(`{"type":"assistant",`), `{"type":"diary"}` + "\n" + `{"type":"assistant",`, []string{"new-unmapped added diary"}},
		// What differs from run to run.
		{"an id", `toolu_1`, `toolu_77`, nil},
		{"what is said", `I will look.`, `Let me see.`, nil},
		{"a file", `/a.txt`, `/src/button.css`, nil},
		{"a number", `"duration_ms":100`, `"duration_ms":2345`, nil},
		{"a model's usage", `"claude-x":{`, `"claude-y[1m]":{`, nil},
		{"an id of this run", `{{UUID:1}}`, `0b8e3d3c-1111-4222-8333-944445555666`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, files, old := run, transcript, c.old
			target := &out
			if rest, disk := strings.CutPrefix(old, "disk "); disk {
				target, old = &files, rest
			}
			changed := strings.ReplaceAll(*target, old, c.new)
			if changed == *target {
				t.Fatalf("the run has no %s", old)
			}
			a := side(t, "1.0.0", out, files)
			*target = changed
			r := compare(t, a, side(t, "1.0.1", out, files))
			var got []string
			for _, f := range r.Findings {
				s := fmt.Sprintf("%s %s %s", f.Class, f.What, f.Path)
				for _, w := range f.Added {
					s += " +" + w
				}
				for _, w := range f.Gone {
					s += " -" + w
				}
				got = append(got, s)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
			if lost := slices.ContainsFunc(c.want, func(w string) bool { return strings.HasPrefix(w, "lost-mapped") }); r.Lost() != lost {
				t.Errorf("Lost() = %v", r.Lost())
			}
		})
	}
}

// Each of these is one sentence that says what is wrong, and one that helps.
func TestWhatCannotBeCompared(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	one := capture(t, "1.0.0", "run", map[string]string{"stdout.jsonl": run})
	nameless := filepath.Join(t.TempDir(), "captures", "run")
	if err := os.MkdirAll(nameless, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(nameless, "stdout.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ a, b, says, fix string }{
		{"nowhere", one, "nowhere is not there", "a version such as claude@2.1.332"},
		{one, empty, "holds no fixture and no capture", "a folder with stdout.jsonl"},
		{"claude@9.9.9", one, "no fixture of claude 9.9.9", "recorded versions: 2.0.0, 2.1.197, 2.1.332"},
		{"gemini@1.0.0", one, `"gemini@1.0.0" is not a version of claude, codex or grok`, "name it like claude@2.1.332"},
		{one, "codex@0.40.0", "is of claude, codex@0.40.0 of codex", "one CLI"},
		{fixtures + "/claude/made", one, "holds claude 2.0.0 and claude 2.1.197", "pass one version"},
		{nameless, one, "nothing tells whose capture it is", "like claude-2.1.332"},
		{fixtures + "/claude/made/2.1.197", fixtures + "/claude/made/2.0.0", "have no scenario in common: made/", "the same scenarios"},
	} {
		err := func() error {
			a, err := Open(c.a, fixtures)
			if err != nil {
				return err
			}
			b, err := Open(c.b, fixtures)
			if err != nil {
				return err
			}
			_, err = Compare(a, b, adapters)
			return err
		}()
		var w Wrong
		if err == nil || !errors.As(err, &w) || !strings.Contains(err.Error(), c.says) || !strings.Contains(strings.Join(errors.GetAllHints(err), " "), c.fix) {
			t.Errorf("%s and %s: %v, fix %q; want %q, fix %q", c.a, c.b, err, errors.GetAllHints(err), c.says, c.fix)
		}
	}
}

// A table of one version would say nothing.
func TestTableNeedsTwoVersions(t *testing.T) {
	t.Parallel()
	s, err := Open(fixtures+"/claude/real/2.1.332/text.txtar", fixtures)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newTable("claude", []*Side{s}, adapters); err == nil || !strings.Contains(err.Error(), "of claude there is 1 version") {
		t.Error(err)
	}
}

// Scenarios on one side alone are named, not compared.
func TestScenariosOfOneSide(t *testing.T) {
	t.Parallel()
	dir := capture(t, "1.0.0", "run", map[string]string{"stdout.jsonl": run, "../early/stdout.jsonl": "{}"})
	later := capture(t, "1.0.1", "run", map[string]string{"stdout.jsonl": run, "../late/stdout.jsonl": `{"type":"rumour"}`})
	var sides [2]*Side
	for i, d := range []string{dir, later} {
		var err error
		if sides[i], err = Open(filepath.Dir(d), fixtures); err != nil {
			t.Fatal(err)
		}
	}
	r := compare(t, sides[0], sides[1])
	if !slices.Equal(r.OnlyA, []string{"captured/early"}) || !slices.Equal(r.OnlyB, []string{"captured/late"}) || r.Compared != 1 || len(r.Findings) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestVersionsDocIsUpToDate holds docs/versions.md to the recordings.
// GOLDIE_UPDATE=1 rewrites it.
func TestVersionsDocIsUpToDate(t *testing.T) {
	t.Parallel()
	sides, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	versions, err := VersionsIn(fixtures, "claude")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"2.0.0", "2.1.197", "2.1.332"}; !slices.Equal(versions, want) { // 2.0.0 is made by hand
		t.Fatalf("versions %v, want %v: compare all that were recorded", versions, want)
	}
	table, err := newTable("claude", sides[:], adapters)
	if err != nil {
		t.Fatal(err)
	}
	const doc = "../../docs/versions.md"
	if os.Getenv("GOLDIE_UPDATE") != "" {
		if err := os.WriteFile(doc, []byte(table.Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != table.Markdown() {
		t.Errorf("%s is not what the recordings say: slidewrite drift --table claude > docs/versions.md\n%s", doc, table.Markdown())
	}
}

// FuzzCompare: whatever two CLIs print, there is a report, and one beside
// itself has no drift.
func FuzzCompare(f *testing.F) {
	f.Add([]byte(run), []byte(transcript))
	f.Add([]byte("{\"type\":\"result\""), []byte("\n\nnot json\n{}"))
	f.Add([]byte(`{"type":7,"a":[[1],{"type":"x","type":"y"}],"":{"":null},"\u0041":1e999}`), []byte(""))
	f.Add([]byte(`{"type":"user","message":{"content":[{"tool_use_id":"t"}]},"tool_use_result":{"tool_use_result":[{}]}}`), []byte(`[1]`))
	f.Fuzz(func(t *testing.T, one, other []byte) {
		sides := [2]*Side{}
		for i, data := range [][]byte{one, other} {
			sides[i] = side(t, "1.0.0", string(data), string(data))
		}
		compare(t, sides[0], sides[1]).Text(true)
		if r := compare(t, sides[0], sides[0]); len(r.Findings)+len(r.Scenarios) > 0 {
			t.Errorf("drift from itself: %s", r.Text(true))
		}
		for _, l := range sides[0].scenarios[0].streams[0].lines {
			if l.tree == nil {
				continue
			}
			if again := parse(l.tree.without(nil)); again == nil || string(again.without(nil)) != string(l.tree.without(nil)) {
				t.Errorf("%q is written as %q", l.raw, l.tree.without(nil))
			}
		}
	})
}
