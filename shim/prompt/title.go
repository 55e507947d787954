package prompt

import (
	"strings"
	"unicode"
)

const maxTitle = 72 // characters

// Title is the first line of a prompt that says something, cut to 72
// characters, fit for the subject of a commit: no control characters, nothing
// that turns the direction of text. A prompt without one, as when the user only
// picked elements, has a fixed title.
func Title(prompt string) string {
	for _, l := range strings.FieldsFunc(strings.ToValidUTF8(prompt, "\uFFFD"), isLineBreak) {
		l = fold(strings.Map(printable, l))
		if l == "" {
			continue
		}
		if short := cut(l, maxTitle); short != l {
			return strings.TrimSpace(cut(l, maxTitle-1)) + "…"
		}
		return l
	}
	return "change what the user picked"
}

func isLineBreak(r rune) bool {
	return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r)
}

// printable maps what a terminal or a history viewer could trip over to
// nothing. Joiners stay: emoji and several scripts need them.
func printable(r rune) rune {
	const zwnj, zwj = '\u200c', '\u200d'
	switch {
	case r == zwnj, r == zwj, unicode.IsGraphic(r):
		return r
	case unicode.IsSpace(r):
		return ' '
	}
	return -1
}
