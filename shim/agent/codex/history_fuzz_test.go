package codex

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/agenttest"
)

func addRollouts(f *testing.F) {
	f.Add([]byte(eventsRollout))
	f.Add([]byte(bareRollout))
	f.Add([]byte(rollout171))
	f.Add([]byte(rollout144))
	for _, name := range []string{"resume", "interrupt-bash", "yield", "subagent", "err-400", "patch-all", "mcp", "web-search"} {
		f.Add(bytes.Join(ownRollout(loadFixture(f, fakeagents.Real, name)), []byte("\n")))
	}
	f.Add([]byte(`{"type":"session_meta","payload":{"cwd":"/repo"` + "\n" + `{"type":"event_msg","payload":{"type":"user_message","message":"\ud83d`))
}

// FuzzHistoryScan: no file makes the scan panic; wherever it stopped, it goes
// on to the same row; what is final stays.
func FuzzHistoryScan(f *testing.F) {
	addRollouts(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		lines := bytes.Split(b, []byte("\n"))
		whole, parts := scanOf(t, testRepo, nil), scanOf(t, testRepo, nil)
		for i, line := range lines {
			before := whole.Verdict()
			whole.Line(line)
			if after := whole.Verdict(); before != agent.Undecided && after != before {
				t.Fatalf("line %d: verdict %d becomes %d", i, before, after)
			}
			parts.Line(line)
			if i%3 != 0 {
				continue
			}
			saved := parts.Save()
			if !json.Valid(saved) {
				t.Fatalf("saved %q", saved)
			}
			var err error
			if parts, err = New(Options{}).NewScan(agent.History{Repo: testRepo}, agent.Transcript{}, saved); err != nil {
				t.Fatal(err)
			}
		}
		if whole.Verdict() != parts.Verdict() || whole.Row() != parts.Row() {
			t.Fatalf("in one go %d %+v, in parts %d %+v", whole.Verdict(), whole.Row(), parts.Verdict(), parts.Row())
		}
		if whole.Verdict() == agent.Ours && whole.Row().Messages == 0 {
			t.Fatal("a session without a message is listed")
		}
	})
}

// FuzzHistoryReplay: no file makes the replay panic or break the order of
// events.
func FuzzHistoryReplay(f *testing.F) {
	addRollouts(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		agenttest.CheckReplay(t, New(Options{}).NewReplay(agent.History{Repo: testRepo}), b, "error")
	})
}

// FuzzMember: the finder of members and the decoder agree on what is JSON.
func FuzzMember(f *testing.F) {
	for _, s := range []string{`{"a":{"b":"c\\\"d","e":[1,{"x":"}"}]}}`, ` { "a" : "\u00e9" , "b":-1e3}`, `{"a":`, `{"a":"`, `{"":[[]]}`, `[]`, `"\\"`} {
		f.Add([]byte(s), "a")
	}
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		found := member(b, name)
		got := text(found)
		elements(found, func(element []byte) bool { return text(element) != "stop" })
		var object map[string]json.RawMessage
		d := json.NewDecoder(bytes.NewReader(b))
		if !json.Valid(b) || d.Decode(&object) != nil || object == nil || !plainKeys(b) {
			return
		}
		want, ok := object[name]
		if ok != (found != nil) {
			t.Fatalf("%q: found %v, decoded %v", b, found != nil, ok)
		}
		if !ok {
			return
		}
		if !bytes.Equal(value(found), want) {
			t.Fatalf("%q: %q, decoded %q", b, value(found), want)
		}
		var s string
		if json.Unmarshal(want, &s) == nil && want[0] == '"' && s != got {
			t.Fatalf("%q: text %q, decoded %q", b, got, s)
		}
	})
}

// plainKeys: no name is there twice or written with escapes, where the two may
// differ.
func plainKeys(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	_, _ = d.Token() // the brace
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok || seen[name] || bytes.Contains(b, []byte(`\u`)) || bytes.ContainsRune(b, '\uFFFD') {
			return false
		}
		for i := range len(name) {
			if name[i] < ' ' || name[i] == '"' || name[i] == '\\' || name[i] == '/' || name[i] >= 0x7f {
				return false
			}
		}
		seen[name] = true
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			return false
		}
	}
	return true
}
