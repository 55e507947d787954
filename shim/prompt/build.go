package prompt

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"text/template"
	"unicode"
	"unicode/utf16"
)

//go:embed system.md user.md
var wording embed.FS

// Built is what the agent is told.
type Built struct {
	System string // the same for every request and project
	User   string
}

// BuildOptions are the parts of a prompt that are not in the request.
type BuildOptions struct {
	// Nonce makes the fences of this prompt unlike anything a page can hold
	// (NewNonce).
	Nonce string
	// ShotPaths are where the pictures are, in the order of the elements that
	// have one.
	ShotPaths []string
	// ProjectDoc is the text of the project's CLAUDE.md, where the agent does
	// not read it by itself; "" = it does, or there is none.
	ProjectDoc string
}

// Build writes the prompts of a request. It is pure: the same request and
// options give the same bytes.
func Build(r Request, o BuildOptions) Built {
	system, _ := wording.ReadFile("system.md") // embedded: cannot fail
	var user strings.Builder
	v := view(r, o)
	if err := userTemplate().Execute(&user, v); err != nil {
		panic(fmt.Sprintf("prompt/user.md: %v", err)) // a mistake in the wording; every golden test would show it
	}
	b := Built{
		System: strings.TrimSpace(string(system)),
		User:   strings.TrimSpace(user.String()),
	}
	b.User += footer(b.User, v.Words)
	return b
}

var userTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(wording, "user.md"))
})

// userView is what user.md is filled with. Of page-derived text it holds only
// fenced blocks; the rest is the user's words, numbers, and paths of ours.
type userView struct {
	Words      string
	Nonce      string
	Open       string // the fence's first line
	Close      string // the fence's last line
	HasFence   bool
	Screen     string // fenced
	Elements   []elementView
	Pictures   []pictureView
	ProjectDoc string
}

type elementView struct {
	Number, Of int // Of is the number of elements in this prompt
	JSON       string
	Element
	HasFile, HasSource bool
}

type pictureView struct {
	Path    string
	Pasted  bool
	Element int // number of the element it shows, 0 = of none
	Of      int
}

func view(r Request, o BuildOptions) userView {
	v := userView{
		Words:      strings.TrimSpace(r.Prompt),
		Nonce:      o.Nonce,
		Open:       "<page-data-" + o.Nonce + ">",
		Close:      "</page-data-" + o.Nonce + ">",
		ProjectDoc: strings.TrimSpace(o.ProjectDoc),
	}
	if r.Screen != "" {
		v.Screen = pageJSON(struct {
			Screen string `json:"screen"`
		}{r.Screen})
	}
	for _, el := range r.Elements {
		shown := !el.Pasted && el.identified()
		if shown {
			v.Elements = append(v.Elements, viewElement(el, len(v.Elements)+1))
		}
		if el.Shot != nil && len(v.Pictures) < len(o.ShotPaths) {
			p := pictureView{Path: o.ShotPaths[len(v.Pictures)], Pasted: el.Pasted}
			if shown {
				p.Element = len(v.Elements)
			}
			v.Pictures = append(v.Pictures, p)
		}
	}
	for i := range v.Elements {
		v.Elements[i].Of = len(v.Elements)
	}
	for i := range v.Pictures {
		v.Pictures[i].Of = len(v.Elements)
	}
	v.HasFence = v.Screen != "" || len(v.Elements) > 0
	return v
}

func viewElement(el Element, number int) elementView {
	ev := elementView{Number: number, JSON: pageJSON(el), Element: el}
	ev.HasFile = el.Component != nil && el.Component.File != ""
	for _, r := range el.Styles {
		ev.HasSource = ev.HasSource || r.Source != ""
	}
	return ev
}

// pageJSON is v as compact JSON on one line that is safe inside a fence: no
// "<" (so it cannot hold a fence), no "@" (agents expand @path), and no
// character that cannot be seen.
func pageJSON(v any) string {
	var plain strings.Builder
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false) // ">" and "&" stay: they are harmless, and paths full of them
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("prompt: %T cannot be JSON: %v", v, err)) // plain structs of strings and finite numbers
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(plain.String(), "\n") {
		switch {
		case r != '@' && r != '<' && unicode.IsPrint(r):
			out.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}
