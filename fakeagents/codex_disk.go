package fakeagents

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// codexSessions is where codex keeps its rollouts, below its own folder:
// YYYY/MM/DD/rollout-<local time>-<thread id>.jsonl (0.171.0). A fixture has
// their path from there on.
const codexSessions = "sessions"

// codexRollout is a thread's own rollout in a fixture.
const codexRollout = "{{DAY}}/rollout-{{STAMP}}-{{SESSION}}.jsonl"

func (p *process) sessionsDir() string { return filepath.Join(p.configDir(), codexSessions) }

// rollouts are those of threads whose id fits the pattern.
func (p *process) rollouts(id string) ([]string, error) {
	return filepath.Glob(filepath.Join(p.sessionsDir(), "*", "*", "*", "rollout-*-"+id+".jsonl"))
}

// newThread is the id of a thread that starts: the same for the same fixture,
// directory and number of threads so far.
func (p *process) newThread(f *Fixture) (string, error) {
	before, err := p.rollouts("*")
	return uuid(f.Name, p.dir, strconv.Itoa(len(before))), err
}

// rolloutPath returns where a rollout is written: a thread that goes on keeps
// the file it began with.
func (p *process) rolloutPath(path string) string {
	const tail = len("-00000000-0000-0000-0000-000000000000.jsonl")
	if len(path) < tail {
		return path
	}
	id := strings.TrimSuffix(path[len(path)-tail+1:], ".jsonl")
	if found, err := p.rollouts(id); err == nil && len(found) > 0 {
		if rel, err := filepath.Rel(p.sessionsDir(), found[0]); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return path
}

// aborted writes the record of a turn that SIGINT ended, by the recorded case
// interrupt-bash.
func (t *codexTurn) aborted() error {
	record := fmt.Sprintf(`{"timestamp":%s,"type":"event_msg","payload":{"type":"turn_aborted","turn_id":%s,"reason":"interrupted"}}`+"\n",
		quoted(t.values.Now.UTC().Format("2006-01-02T15:04:05.000Z")), quoted(uuid(t.values.Session, "turn")))
	return t.disk.append(t.disk.own, []byte(record))
}
