package agent

import (
	"time"

	"github.com/slidewrite/slidewrite/shim/event"
)

// Historian is an Agent that can read the sessions its CLI leaves on disk.
// Files are opened and read by package history; an adapter knows their names
// and what their lines mean.
type Historian interface {
	// Transcripts returns the files that may hold a session of h.Repo, as far
	// as names tell; none is opened. A folder that is not there has none.
	Transcripts(h History) ([]Transcript, error)
	// NewScan returns what reads one transcript for the list. saved is what
	// Scan.Save of the same file had returned, nil at its beginning; an error
	// makes the file be read anew.
	NewScan(h History, t Transcript, saved []byte) (Scan, error)
	// NewReplay returns what turns the records of one transcript into events.
	NewReplay(h History) Replay
}

// History says whose sessions are asked for.
type History struct {
	Repo    string   // real path of the agent's working directory: a session of another folder is foreign
	Top     string   // real path of the repository's top level ("" = Repo): tool paths are relative to it
	Environ []string // the agent's: HOME, CLAUDE_CONFIG_DIR, CODEX_HOME, GROK_HOME
	// Said takes a prompt as the agent got it and returns what the human had
	// said: without our system prompt, context blocks and fences. It returns
	// any other text as it is. nil = as it is.
	Said func(prompt string) string
	// System is our system prompt, which some agents get as a part of the
	// prompt. "" = not known.
	System string
}

// Transcript is one file with a session, or what stands for it in the list.
type Transcript struct {
	ID     string // session UUID, lower case
	Path   string // absolute; its lines go to Scan
	Events string // absolute; its lines go to Replay; "" = Path
	// Whole is a file that is replaced, not appended to: each change makes it
	// be read anew, and it goes to the scan as one line.
	Whole bool
}

// Scan reads one transcript for the list, and decodes few lines: a list may
// stand on gigabytes. It does no I/O, but to resolve the symbolic links of a
// folder that a record names, and, where Path has no prompt at all (grok), to
// find the first one in Events.
type Scan interface {
	// Line takes one line without its newline, valid until it returns. One of
	// more than ScanLimit bytes comes with its long strings shortened, and where
	// that is not enough, cut: its beginning. A malformed line is skipped.
	Line(line []byte)
	// Verdict tells whether the session is one of the repository. Foreign and
	// Hidden are final: nothing more of the file is read.
	Verdict() Verdict
	// Row is what was learned so far.
	Row() Row
	// Save returns what NewScan needs to go on behind the last line.
	Save() []byte
}

// Waiting is a Scan that looks into Events, too, which may come, or come to
// tell what is missed, without a change of Path.
type Waiting interface {
	// Waits tells that something is missed: the file is to be read anew.
	Waits() bool
}

// ScanLimit is how much of a line a Scan gets to see, in bytes.
const ScanLimit = 1 << 20

// Verdict is what a transcript is to a repository.
type Verdict int

const (
	Undecided Verdict = iota // no record has told yet; not listed
	Ours
	Foreign // of another folder
	Hidden  // of this one, and no conversation with a human: a sub-agent's
)

// Row is one session in the list.
type Row struct {
	Title       string // the agent's own, "" = none
	FirstPrompt string // what the human said first, through History.Said; not shortened
	StartedAt   time.Time
	EndedAt     time.Time // of the last record
	Branch      string
	Messages    int // of human and agent
}

// Replay maps the records of one transcript to events, in order. It does no
// I/O. It keeps nothing from one turn to the next, so that a page can begin at
// any turn.
type Replay interface {
	// Begins tells whether a record begins a turn: what the human said. It is
	// cheap, and also asked of records that Map never sees. One of more than
	// ScanLimit bytes comes as to Scan.Line.
	Begins(line []byte) bool
	// Map maps one line. A malformed or unknown one gives no events. The same
	// turn read again gives the same events: a page is found by their number.
	Map(line []byte) []event.Event
	// End closes the turn: what was said with the last record, its result. It
	// is called before each record that begins a turn and at the end of the
	// file, where the agent may still be working.
	End() []event.Event
}

// Parted is a Replay of an agent whose turns are long: one can be taken up in
// its middle, so that a page costs what it shows and not what its turn has.
type Parted interface {
	Replay
	// Step returns the id of the model's answer that a record is a part of, ""
	// of any other record. At the first record of an answer whatever was called
	// before has its result, so there Map can begin anew. It is as cheap as
	// Begins.
	Step(line []byte) string
	// Part begins anew in the middle of a turn: from here on Map goes by what
	// it is given, and End by all of the turn.
	Part()
	// Pass takes a record in place of Map where its events are not wanted: End
	// goes by it all the same. It is for records before the last Part.
	Pass(line []byte)
}
