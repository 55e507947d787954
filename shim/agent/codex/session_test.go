package codex

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// rollout171 has the lines of 0.171.0 that matter, in the shape of its
// capture r-15, between some that do not: a second turn with another model.
const rollout171 = `{"timestamp":"2026-11-30T08:23:45.207Z","ordinal":0,"type":"session_meta","payload":{"account_scoped":true,"session_id":"01a22b8d-870a-7ea0-bc32-05610cf63240","id":"01a22b8d-870a-7ea0-bc32-05610cf63240","cwd":"/p/app","cli_version":"0.171.0","source":"exec","base_instructions":{"text":"long"}}}
{"timestamp":"2026-11-30T08:23:45.224Z","ordinal":5,"type":"turn_context","payload":{"turn_id":"t1","cwd":"/p/app","model":"gpt-5.5","sandbox_policy":{"type":"danger-full-access"}}}
{"timestamp":"2026-11-30T08:23:45.266Z","ordinal":10,"type":"token_usage_record","payload":{"thread_id":"x","usage":{"input_tokens":100},"turn_token_usage":{"input_tokens":100},"thread_token_usage":{"input_tokens":100,"cached_input_tokens":50,"cache_write_input_tokens":0,"output_tokens":20,"reasoning_output_tokens":5,"total_tokens":120}}}
{"timestamp":"2026-11-30T08:23:45.271Z","ordinal":13,"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":50,"cache_write_input_tokens":0,"output_tokens":20,"reasoning_output_tokens":5,"total_tokens":120}}}}
{"timestamp":"2026-11-30T08:23:46.017Z","ordinal":48,"type":"turn_context","payload":{"turn_id":"t2","cwd":"/p/app","model":"gpt-6.2-sol","effort":"high"}}
{"timestamp":"2026-11-30T08:23:46.031Z","ordinal":52,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"say \"turn_context\" and \"token_count\""}]}}
{"timestamp":"2026-11-30T08:23:46.051Z","ordinal":56,"type":"token_usage_record","payload":{"thread_id":"x","usage":{},"turn_token_usage":{},"thread_token_usage":{"input_tokens":602,"cached_input_tokens":300,"cache_write_input_tokens":2,"output_tokens":120,"reasoning_output_tokens":30,"total_tokens":722}}}
{"timestamp":"2026-11-30T08:23:46.054Z","ordinal":58,"type":"event_msg","payload":{"type":"task_complete","last_agent_message":"Hello"}}
`

// rollout144 is the generation before 0.148: no ordinal, no usage record.
const rollout144 = `{"timestamp":"2025-11-30T08:23:45.207Z","type":"session_meta","payload":{"id":"01a22b8d-870a-7ea0-bc32-05610cf63240","timestamp":"2025-11-30T08:23:45.171Z","cwd":"/p/app","originator":"codex_exec","cli_version":"0.144.1"}}
{"timestamp":"2025-11-30T08:23:45.224Z","type":"turn_context","payload":{"cwd":"/p/app","approval_policy":"never","model":"gpt-5-codex","effort":"low"}}
{"timestamp":"2025-11-30T08:23:45.230Z","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":null}}
{"timestamp":"2025-11-30T08:23:45.271Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":20,"total_tokens":120}}}}
{"timestamp":"2025-11-30T08:23:45.286Z","type":"event_msg","payload":{"type":"agent_message","message":"All done."}}
`

func writeRollout(t *testing.T, home, day, id, text string) string {
	t.Helper()
	dir := filepath.Join(home, "sessions", filepath.FromSlash(day))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "rollout-2026-11-30T08-23-45-"+id+".jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func sameSession(t *testing.T, got, want agent.Session) {
	t.Helper()
	if got.Folder != want.Folder || got.Model != want.Model || (got.Usage == nil) != (want.Usage == nil) || got.Usage != nil && *got.Usage != *want.Usage {
		t.Errorf("got %+v %+v, want %+v %+v", got, got.Usage, want, want.Usage)
	}
}

func TestFindSession(t *testing.T) {
	sol := agent.Session{Folder: "/p/app", Model: "gpt-6.2-sol", Usage: &event.Usage{InputTokens: 300, CacheReadTokens: 300, CacheCreationTokens: 2, OutputTokens: 120}}
	home := t.TempDir()
	writeRollout(t, filepath.Join(home, ".codex"), "2026/11/30", testSession, rollout171)
	other := filepath.Join(t.TempDir(), "[a]*?") // a name that is no pattern
	if os.PathSeparator == '\\' {
		other = t.TempDir()
	}
	writeRollout(t, other, "2025/11/30", testSession, rollout144)
	old := agent.Session{Folder: "/p/app", Model: "gpt-5-codex", Usage: &event.Usage{InputTokens: 60, CacheReadTokens: 40, OutputTokens: 20}}
	none := agent.Session{}
	tests := []struct {
		name    string
		home    string
		environ []string
		resume  string
		want    agent.Session
	}{
		{"home of the user", "", []string{"HOME=" + home}, testSession, sol},
		{"upper case", "", []string{"HOME=" + home}, strings.ToUpper(testSession), sol},
		{"CODEX_HOME", "", []string{"HOME=" + home, "CODEX_HOME=" + other}, testSession, old},
		{"--codex-home", other, []string{"HOME=" + home, "CODEX_HOME=/nowhere"}, testSession, old},
		{"another id", "", []string{"HOME=" + home}, "01a22b8d-870a-7ea0-bc32-05610cf63241", none},
		{"not an id", "", []string{"HOME=" + home}, "../../../etc/passwd", none},
		{"a pattern", "", []string{"HOME=" + home}, "*", none},
		{"no home", "", nil, testSession, none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sameSession(t, New(Options{Home: tt.home}).FindSession(t.Context(), agent.Spec{Resume: tt.resume}, tt.environ), tt.want)
		})
	}
}

// What is not a whole rollout still tells what it has.
func TestReadRolloutOfBrokenFiles(t *testing.T) {
	lines := strings.SplitAfter(rollout171, "\n")
	junk := "not json\n" + `{"type":"turn_context","payload":{"model":7}}` + "\n" + `{"type":"turn_cont`
	tests := []struct {
		name, text string
		want       agent.Session
	}{
		{"empty", "", agent.Session{}},
		{"no session_meta", lines[1] + lines[2], agent.Session{}},
		{"a first turn that said nothing yet", lines[0] + lines[1], agent.Session{Folder: "/p/app", Model: "gpt-5.5", Usage: &event.Usage{}}},
		{"being written", lines[0] + lines[1] + lines[2] + junk, agent.Session{Folder: "/p/app", Model: "gpt-5.5", Usage: &event.Usage{InputTokens: 50, CacheReadTokens: 50, OutputTokens: 20}}},
		{"no newline at its end", strings.TrimSuffix(lines[0]+lines[1], "\n"), agent.Session{Folder: "/p/app", Model: "gpt-5.5", Usage: &event.Usage{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sameSession(t, readRollout(t.Context(), writeRollout(t, t.TempDir(), "2026/11/30", testSession, tt.text)), tt.want)
		})
	}
	if s := readRollout(t.Context(), t.TempDir()); s.Folder != "" {
		t.Errorf("a folder is read as %+v", s)
	}
}

// huge is a rollout of length bytes: its head, its end, and spaces between.
// It counts what is read of it.
type huge struct {
	head, end string
	length    int64
	read      int
}

func (h *huge) ReadAt(b []byte, off int64) (int, error) {
	n := int(min(int64(len(b)), h.length-off))
	h.read += n
	for i := range b[:n] {
		b[i] = ' '
	}
	if off < int64(len(h.head)) {
		copy(b[:n], h.head[off:])
	}
	if at := h.length - int64(len(h.end)) - off; at < int64(n) {
		copy(b[max(0, at):n], h.end[max(0, -at):])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// A rollout of a gigabyte costs no more than its ends.
func TestReadRolloutOfAGigabyte(t *testing.T) {
	lines := strings.SplitAfter(rollout171, "\n")
	h := &huge{head: lines[0] + lines[1], end: "\n" + lines[4] + lines[6], length: 1 << 30}
	sameSession(t, readEnds(t.Context(), h, h.length), agent.Session{Folder: "/p/app", Model: "gpt-6.2-sol", Usage: &event.Usage{InputTokens: 300, CacheReadTokens: 300, CacheCreationTokens: 2, OutputTokens: 120}})
	if h.read > 300<<10 {
		t.Errorf("%d bytes were read", h.read)
	}
	// The end says nothing within reach: the model is the first turn's and the
	// usage is not known, rather than guessed.
	h = &huge{head: lines[0] + lines[1], end: "\n" + lines[4] + lines[6] + strings.Repeat(" ", tailSize), length: 1 << 30}
	sameSession(t, readEnds(t.Context(), h, h.length), agent.Session{Folder: "/p/app", Model: "gpt-5.5"})
	if h.read > tailSize+tailSize/4 {
		t.Errorf("%d bytes were read", h.read)
	}
}

// TestReadRolloutBehindALongRecord has the folder stand behind instructions of
// any length, or nowhere.
func TestReadRolloutBehindALongRecord(t *testing.T) {
	long := strings.Repeat(`You are \"careful\". `, 200_000)
	tests := []struct {
		name, text, folder string
		unknown            bool
	}{
		{"instructions", `{"type":"session_meta","payload":{"base_instructions":{"text":"` + long + `"},"cwd":"/p/app"}}` + "\n", "/p/app", false},
		{"a record before it", `{"type":"event_msg","payload":{"x":"` + long + `"}}` + "\n" + rollout171, "/p/app", false},
		{"bare", `{"id":"x","timestamp":"2025-04-30T07:53:01Z","instructions":"` + long + `"}` + "\n" +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context><cwd>/p/app</cwd></environment_context>"}]}` + "\n", "/p/app", false},
		{"being written", `{"type":"session_meta","payload":{"base_instructions":{"text":"` + long, "", true},
		{"no session_meta", strings.SplitAfter(rollout171, "\n")[1], "", true},
		{"empty", "", "", false},
	}
	for _, tt := range tests {
		got := readRollout(t.Context(), writeRollout(t, t.TempDir(), "2026/11/30", testSession, tt.text))
		if got.Folder != tt.folder || got.Unknown != tt.unknown {
			t.Errorf("%s: %+v, want %q, unknown %v", tt.name, got, tt.folder, tt.unknown)
		}
	}
}
