package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/history"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/server"
)

func TestAge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]string{
		-time.Hour: "now", 0: "now", 59 * time.Second: "now", time.Minute: "1 min", 59 * time.Minute: "59 min", time.Hour: "1 h", 23 * time.Hour: "23 h",
		24 * time.Hour: "1 day", 47 * time.Hour: "1 day", 48 * time.Hour: "2 days", 99 * 24 * time.Hour: "99 days", 400 * 24 * time.Hour: now.Add(-400 * 24 * time.Hour).Local().Format("2006-01-02"),
	} {
		at := now.Add(-ago)
		if got := age(now, &at); got != want {
			t.Errorf("%v: %q, want %q", ago, got, want)
		}
	}
	if got := age(now, nil); got != "?" {
		t.Errorf("unknown: %q", got)
	}
}

// Ids that begin alike, as those made in the same minute do, are told apart.
func TestShortIDs(t *testing.T) {
	ids := []string{
		"0199a001-0000-7000-8000-000000000001", "0199a001-0000-7000-8000-000000000002", "0199a001-1000-7000-8000-000000000001",
		"5e551011-0000-4000-8000-000000000001",
	}
	var all []history.Session
	for _, id := range ids {
		all = append(all, history.Session{ID: id})
	}
	short := shortIDs(all)
	for i, want := range []string{ids[0], ids[1], "0199a001-1", "5e551011"} {
		if short[ids[i]] != want {
			t.Errorf("%s became %s, want %s", ids[i], short[ids[i]], want)
		}
	}
}

// TestHistoryTable: columns stand under each other, whatever is in a title,
// and nothing in it steers the terminal.
func TestHistoryTable(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := now.Add(-3 * time.Hour)
	rows := []server.SessionRow{
		{ID: "5e551011-0000-4000-8000-000000000001", Title: "grün \x1b[2J\u202e\n" + strings.Repeat("long ", 30), EndedAt: &at, Messages: 12, Runs: []run.Summary{{SHA: "bbbbbbbbbbbbbb", Undone: true}, {}, {SHA: "aaaaaaa"}}},
		{ID: "5e551012-0000-4000-8000-000000000001", FirstPrompt: "make it louder", Messages: 1},
		{ID: "5e551013-0000-4000-8000-000000000001"},
	}
	short := map[string]string{rows[0].ID: "5e551011", rows[1].ID: "5e551012", rows[2].ID: "5e551013"}
	a, _, _ := testApp(nil)
	var out bytes.Buffer
	(&teller{app: a, now: now}).table(&out, rows, short)
	title := "grün ·[2J· " + strings.TrimSpace(strings.Repeat("long ", 30))
	title = string([]rune(title)[:titleWidth-1]) + "…"
	want := "AGE  SESSION   MSGS  TITLE" + strings.Repeat(" ", titleWidth-len("TITLE")) + "  COMMITS\n" +
		"3 h  5e551011  12    " + title + "  aaaaaaa, bbbbbbbbb (undone)\n" +
		"?    5e551012  1     make it louder\n" +
		"?    5e551013  0     (nothing was said)\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// What the human said stands out from what the agent answers.
func TestRenderingOfUser(t *testing.T) {
	_, got := rendered(false, event.Delta{Text: "Done."}, event.User{Text: "make it green\n\nand \x1b[2Jbig"}, event.Delta{Text: "Yes."}, event.Done{})
	if want := "Done.\n> make it green\n> \n> and ·[2Jbig\nYes.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
