//go:build unix

package shim_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/catalog"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// offer is an agent's entry of /meta on a line each: who pays, the models with
// their efforts, the default one marked.
func offer(p catalog.Provider) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, paid by %s\n", p.ID, p.Label, p.Billing)
	for _, m := range p.Models {
		mark := " "
		if m.ID == p.DefaultModel {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s %s (%s)", mark, m.ID, m.Label)
		for _, e := range m.Efforts {
			b.WriteString(" " + e.ID)
		}
		if m.DefaultEffort != "" {
			b.WriteString(", default " + m.DefaultEffort)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// offers are what the fakes offer, as it was recorded (of grok: made).
var offers = map[string]string{
	"claude": `anthropic, Anthropic, paid by plan
* default (Default (recommended)) default low medium high xhigh max, default default
  opus (Opus) default low medium high xhigh max, default default
  fable (Fable) default low medium high xhigh max, default default
  sonnet (Sonnet) default low medium high xhigh max, default default
  haiku (Haiku) default low medium high xhigh max, default default
`,
	"codex": `openai, OpenAI, paid by plan
* gpt-6.2-sol (GPT-6.2-Sol) default low medium high xhigh max ultra, default default
  gpt-6.2-astra (GPT-6.2-Astra) default low medium high xhigh max ultra, default default
  gpt-6.1-terra (GPT-6.1 Terra) default low medium high xhigh max ultra, default default
  gpt-6.1-sol (GPT-6.1-Sol) default low medium high xhigh max ultra, default default
  gpt-6-astra (GPT-6-Astra) default low medium high xhigh max ultra, default default
  gpt-6-sol (GPT-6-Sol) default low medium high xhigh max ultra, default default
  gpt-6-luna (GPT-6-Luna) default low medium high xhigh max, default default
  gpt-5.6-sol (GPT-5.6-Sol) default low medium high xhigh max ultra, default default
  gpt-5.6-terra (GPT-5.6-Terra) default low medium high xhigh max ultra, default default
  gpt-5.6-luna (GPT-5.6-Luna) default low medium high xhigh max, default default
  gpt-5.5 (GPT-5.5) default low medium high xhigh, default default
`,
	"grok": `grok, Grok, paid by plan
* grok-4.6 (Grok 4.6) default low high, default default
  grok-4.5 (Grok 4.5)
`,
}

// metaAll is all of /meta, and how long that took.
func metaAll(s *shimtest.Stage) (map[string]catalog.Provider, time.Duration) {
	s.T.Helper()
	var meta struct{ Providers []catalog.Provider }
	begin := time.Now()
	if status := s.JSON("GET", "/meta", nil, &meta); status != 200 {
		s.T.Fatalf("GET /meta: %d", status)
	}
	took := time.Since(begin)
	entries := map[string]catalog.Provider{}
	for _, p := range meta.Providers {
		entries[p.ID] = p
	}
	if len(meta.Providers) != len(drivers)+1 || entries["google"].Enabled {
		s.T.Fatalf("providers %+v", meta.Providers)
	}
	return entries, took
}

func TestMetaOfEveryAgent(t *testing.T) {
	s := setup(t, text, nil)
	s.Start(shim.Config{Timing: quick})
	each(t, func(t *testing.T, d driver) {
		var p catalog.Provider
		for p.ID == "" || p.Pending {
			p = metaOf(s, d.name)
		}
		if got := offer(p); got != offers[d.name] || p.Error != "" || p.Fix != "" {
			t.Errorf("%s %s offers\n%s\nwant\n%s", p.Error, p.Fix, got, offers[d.name])
		}
	})
	// One was asked at a time, and what is known is not asked again.
	asked := len(s.Agents())
	all, _ := metaAll(s)
	for _, d := range drivers {
		if got := offer(all[d.provider]); got != offers[d.name] {
			t.Errorf("with all others %s offers\n%s", d.name, got)
		}
	}
	if got := len(s.Agents()); got != asked {
		t.Errorf("%d more commands were run", got-asked)
	}
	refused(s, "GET", "/meta?only=acme", nil, 400, "bad_request")
}

// A CLI that hangs costs its own entry: the others are there with the answer,
// which comes within the 3 s that it waits.
func TestMetaWithACLIThatHangs(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		s := setup(t, text, nil)
		gate := s.Gate("hangs")
		bin := filepath.Join(s.Root, "hanging")
		wait := "until [ -e '" + s.Root + "/hangs.open' ]; do sleep 0.05; done"
		if err := os.WriteFile(bin, []byte("#!/bin/sh\n: >'"+s.Root+"/hangs.there'\n"+wait+"\n"+clis[d.name]), 0o700); err != nil {
			t.Fatal(err)
		}
		cfg := shim.Config{Timing: quick}
		*map[string]*string{"claude": &cfg.ClaudeBin, "codex": &cfg.CodexBin, "grok": &cfg.GrokBin}[d.name] = bin
		s.Start(cfg)
		t.Cleanup(gate.Open)
		shimtest.Await(t, "the others are there", func() bool { // at once, unless the machine is busy
			all, took := metaAll(s)
			if took > 3*time.Second+slack {
				t.Errorf("the answer came after %v", took)
			}
			if p := all[d.provider]; !p.Pending || p.Error != "" || len(p.Models) > 0 {
				t.Errorf("the hanging one: %+v", p)
			}
			there := true
			for _, other := range drivers {
				if p := all[other.provider]; other != d && p.Pending {
					there = false
				} else if other != d && offer(p) != offers[other.name] {
					t.Errorf("%s offers\n%s", other.name, offer(p))
				}
			}
			return there
		})
		gate.Reached()
		gate.Open()
		shimtest.Await(t, "a later call has it", func() bool {
			p := metaOf(s, d.name)
			return !p.Pending && p.Error == "" && len(p.Models) == 1
		})
	})
}

// slack is what a busy machine adds to an answer.
const slack = 2 * time.Second

// No file with a credential is opened by us, be it to look whether it is one: a
// pipe in its place would hold a reader, and shows that it has one.
func TestNoCredentialFileIsOpened(t *testing.T) {
	s := setup(t, text, nil)
	var traps []string
	for _, path := range []string{
		".claude/.credentials.json", ".claude.json", ".claude/auth.json",
		".codex/auth.json", ".codex/.credentials.json",
		".grok/auth.json", ".grok/auth.json.lock", ".grok/credentials.json",
	} {
		full := filepath.Join(s.Home, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(full, 0o600); err != nil {
			t.Fatal(err)
		}
		traps = append(traps, full)
	}
	cfg := shim.Config{Timing: quick}
	s.Start(cfg)
	shimtest.Await(t, "all agents have said what they offer", func() bool {
		all, _ := metaAll(s)
		for _, d := range drivers {
			if p := all[d.provider]; p.Pending || len(p.Models) == 0 {
				return false
			}
		}
		return true
	})
	for _, d := range drivers { // and look for a session
		s.Stop()
		s.Play(d.fixtures+"text", cfg)
		events := s.Design(ask("provider", d.provider, "resume", session))
		wantWords(t, events, "result, done")
		if shimtest.One[event.Start](t, events).Provider != d.provider {
			t.Errorf("%s was not asked", d.provider)
		}
	}
	for _, trap := range traps {
		f, err := os.OpenFile(trap, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) { // "no process has it open for reading"
			t.Errorf("%s has a reader (%v)", trap, err)
		}
		f.Close()
	}
}
