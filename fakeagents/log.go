package fakeagents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// LogEntry is one line of the file that EnvLog names.
type LogEntry struct {
	PID  int      `json:"pid"`
	Argv []string `json:"argv,omitempty"` // at the start, without the program's name
	Env  []string `json:"env,omitempty"`  // at the start
	Dir  string   `json:"dir,omitempty"`  // at the start

	Started time.Time `json:"started,omitzero"` // when main was reached, at the start

	Stdin string `json:"stdin,omitempty"` // one line that was read
	EOF   bool   `json:"eof,omitempty"`   // stdin was closed
	File  string `json:"file,omitempty"`  // the prompt file that was read
}

// ReadLog reads such a file.
func ReadLog(path string) ([]LogEntry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var entries []LogEntry
	for _, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var e LogEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// logger appends LogEntry lines; one without a file does nothing.
type logger struct {
	mu sync.Mutex
	f  *os.File
}

func openLog(path string) (*logger, error) {
	if path == "" {
		return &logger{}, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &logger{f: f}, err
}

func (l *logger) add(e LogEntry) error {
	if l.f == nil {
		return nil
	}
	e.PID = os.Getpid()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.f.Write(encode(e, ""))
	return err
}

func (l *logger) start(p *process) error {
	return l.add(LogEntry{Argv: p.args, Env: p.env, Dir: p.dir, Started: p.now})
}

func refuse(w io.Writer, reason error) {
	fmt.Fprintf(w, "fake agent: %v\n", reason)
}
