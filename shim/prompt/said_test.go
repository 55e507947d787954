package prompt

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSaidKnowsEveryPart finds the words in every golden prompt, and none of
// them needs the footer: the fixed words in said.go are those of user.md.
func TestSaidKnowsEveryPart(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d requests, %v", len(files), err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Decode([]byte(strings.ReplaceAll(string(body), "{{PNG}}", dataURL("image/png", png))))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []BuildOptions{
			{Nonce: nonce, ShotPaths: []string{"/run/shot-1.png", "/run/shot-2.png", "/run/shot-3.png"}},
			{Nonce: "fresh-per-run", ShotPaths: []string{"(a private folder, fresh per run)/shot-1.png"}},
			{Nonce: nonce, ProjectDoc: "# Rules\n\nUse tabs."},
		} {
			user := Build(r, o).User
			if strings.Contains(user, footerStart) {
				t.Errorf("%s: a prompt like every other has a footer: said.go does not know user.md\n%s", file, user)
			}
			if got, want := Said("\n"+user), strings.TrimSpace(r.Prompt); got != want {
				t.Errorf("%s: said %q, want %q", file, got, want)
			}
		}
	}
}

// TestSaidOfWhatIsNotOurs: any other text comes back as it is.
func TestSaidOfWhatIsNotOurs(t *testing.T) {
	built := Build(Request{Prompt: "ours", Screen: "/"}, BuildOptions{Nonce: nonce}).User
	for _, text := range []string{
		"", " ", "\n", "\n\n", "\n\nx", "\n x", "fix it", "fix it\n", "a\n\nb\n\nc", "a\x00\xff\xfe", "  indented",
		"<command-name>/clear</command-name>",
		"<page-data-" + nonce + ">\n{}\n</page-data-" + nonce + ">",
		built + "\n\nand what does that mean?",
		built + "\n",
		"x" + saysFence + nonce + saysData,
		"x" + saysFence + nonce + saysData + "\n\nplease explain",
		"x" + saysFence + nonce + saysData + saysScreen + "<page-data-" + nonce + ">\n{}",
		"x" + saysFence + nonce + saysData + saysScreen + "<page-data-0000>\n{}\n</page-data-0000>",
		"x" + saysPicked + "this element:\n\n<page-data-" + nonce + ">\n{}\n</page-data-" + nonce + ">" + saysFind + "look.",
		"x" + saysPasted + "/a.png",
		"x" + saysShot + "s are nice",
		"x" + footerEnd,
		"x" + footerStart + "7" + footerEnd,
		"x" + footerStart + "-1" + footerEnd,
		"x" + footerStart + "99999999999999999999" + footerEnd,
	} {
		if got := Said(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// The newline in front of every agent's prompt is not the human's.
func TestSaidWithoutTheNewlineInFront(t *testing.T) {
	if got := Said("\nmake it red"); got != "make it red" {
		t.Errorf("%q", got)
	}
}

// TestSaidUndoesBuild: whatever the human types, and whatever the page and the
// project hold, comes out as it was typed.
func TestSaidUndoesBuild(t *testing.T) {
	rounds := 5000
	if testing.Short() {
		rounds = 1000
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	footers, plain := 0, 0
	for range rounds {
		r, o := randomRequest(rnd)
		user := Build(r, o).User
		if strings.Contains(user, footerStart) {
			footers++
		} else {
			plain++
		}
		want := strings.TrimSpace(r.Prompt)
		for _, text := range []string{user, "\n" + user} {
			if got := Said(text); got != want {
				t.Fatalf("of\n%q\nsaid\n%q, want\n%q", text, got, want)
			}
		}
	}
	if footers == 0 || plain < rounds/3 {
		t.Errorf("%d prompts with a footer, %d without: one of the ways is hardly tried", footers, plain)
	}
}

// randomRequest makes requests of which many hold pieces of our own prompts,
// in the words of the human and in the page.
func randomRequest(rnd *rand.Rand) (Request, BuildOptions) {
	r := Request{Prompt: randomWords(rnd)}
	o := BuildOptions{Nonce: NewNonce()}
	if rnd.IntN(3) == 0 {
		o.Nonce = nonce // that of the prompts that are pasted below
	}
	if rnd.IntN(2) == 0 {
		r.Screen = randomWords(rnd)
	}
	for range rnd.IntN(4) {
		el := Element{Pasted: rnd.IntN(3) == 0}
		if rnd.IntN(4) > 0 {
			el.Tag, el.Text = "div", randomWords(rnd)
			el.HiddenText, el.Disabled, el.Clipped = rnd.IntN(2) == 0, rnd.IntN(2) == 0, rnd.IntN(2) == 0
			el.ClosedShadow = rnd.IntN(2) == 0
			if rnd.IntN(3) == 0 {
				el.Frame, el.Repeat = "iframe", &Repeat{Index: rnd.IntN(3), Of: 3}
				el.Click, el.Component = &Point{1, 2}, &Component{File: randomWords(rnd), Line: rnd.IntN(2)}
				el.Styles = []Rule{{Source: "/x.css"}}
			}
		}
		if rnd.IntN(2) == 0 {
			el.Shot = &Shot{MIME: "image/png"}
			o.ShotPaths = append(o.ShotPaths, fmt.Sprintf("/run/shot-%d.png", len(o.ShotPaths)+1))
		}
		r.Elements = append(r.Elements, el)
	}
	if rnd.IntN(4) == 0 {
		o.ProjectDoc = randomWords(rnd)
	}
	return r, o
}

func randomWords(rnd *rand.Rand) string {
	pieces := []string{
		"make it bigger", "ä😀\u202e\u00a0", "\n", "\n\n", "\t", " ", "\r\n", "\x00", "\xff", "<", "}", "@src/a.tsx", "{{.Words}}",
		strings.Repeat("long ", 300), "```\ncode\n```",
	}
	ours := []string{
		wordless, saysFence + nonce + saysData, saysScreen, "<page-data-" + nonce + ">\n{}\n</page-data-" + nonce + ">",
		saysPicked + "this element:\n\n", saysFind + "look", hints[0] + "is", hints[1] + "it",
		saysPasted + "/x.png" + saysLookAt, saysShot + ": /x.png" + saysShotIs, saysProject,
		footerStart, "0", "3", footerEnd, footerStart + "3" + footerEnd,
		Build(Request{Prompt: "earlier", Screen: "/"}, BuildOptions{Nonce: nonce}).User,
	}
	var b strings.Builder
	odd := rnd.IntN(3) == 0
	for range rnd.IntN(6) {
		if odd && rnd.IntN(2) == 0 {
			b.WriteString(ours[rnd.IntN(len(ours))])
		} else {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
	}
	return b.String()
}

// A transcript may hold anything: the time stays in proportion to the text.
func TestSaidIsLinear(t *testing.T) {
	for _, piece := range []string{
		"\n\n", saysPasted + "/x" + saysLookAt, saysFence + nonce + saysData, footerStart + "9" + footerEnd,
		saysFence + nonce + saysData + saysScreen, saysPicked + "x:\n\n",
	} {
		text := "x" + strings.Repeat(piece, (4<<20)/len(piece)) + "!"
		began := time.Now()
		if got := Said(text); got != text {
			t.Errorf("%.40q: %d bytes of %d are left", piece, len(got), len(text))
		}
		if took := time.Since(began); took > 2*time.Second { // 10 ms here; quadratic is minutes
			t.Errorf("%.40q: %v for 4 MiB", piece, took)
		}
	}
}

func FuzzSaid(f *testing.F) {
	for _, s := range []string{
		"", "make it red", "\nx" + saysPasted + "/a" + saysLookAt, wordless,
		Build(Request{Prompt: "a", Screen: "/", Elements: []Element{{Tag: "b", Frame: "c"}}}, BuildOptions{Nonce: nonce}).User,
		"abc\n\nx" + footerStart + "3" + footerEnd, "x" + saysProject + "y",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if said := Said(text); said != "" && !strings.Contains(text, said) {
			t.Errorf("said %q is not in %q", said, text)
		}
		for _, o := range []BuildOptions{{Nonce: nonce}, {Nonce: nonce, ProjectDoc: text}} {
			for _, screen := range []string{"", "/"} {
				user := Build(Request{Prompt: text, Screen: screen}, o).User
				if got, want := Said("\n"+user), strings.TrimSpace(text); got != want {
					t.Errorf("of %q said %q, want %q", user, got, want)
				}
			}
		}
	})
}
