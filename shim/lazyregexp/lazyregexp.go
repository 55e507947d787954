// Package lazyregexp compiles a regular expression when it is first used, not
// when the program starts: a start of the shim, and of each fake agent, needs
// few of the patterns that the packages have.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression whose methods are those of regexp.Regexp.
type Regexp struct{ get func() *regexp.Regexp }

var all []*Regexp

// New is regexp.MustCompile at the first use, for variables of packages.
// Inlined, it would put a kilobyte into the program for each of them.
//
//go:noinline
func New(expr string) *Regexp {
	r := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
	all = append(all, r)
	return r
}

// All are the expressions of this program, for the test that compiles them.
func All() []*Regexp { return all }

func (r *Regexp) String() string {
	return r.get().String()
}

func (r *Regexp) Match(b []byte) bool {
	return r.get().Match(b)
}

func (r *Regexp) MatchString(s string) bool {
	return r.get().MatchString(s)
}

func (r *Regexp) Find(b []byte) []byte {
	return r.get().Find(b)
}

func (r *Regexp) FindString(s string) string {
	return r.get().FindString(s)
}

func (r *Regexp) FindSubmatch(b []byte) [][]byte {
	return r.get().FindSubmatch(b)
}

func (r *Regexp) FindSubmatchIndex(b []byte) []int {
	return r.get().FindSubmatchIndex(b)
}

func (r *Regexp) FindStringSubmatch(s string) []string {
	return r.get().FindStringSubmatch(s)
}

func (r *Regexp) FindAllIndex(b []byte, n int) [][]int {
	return r.get().FindAllIndex(b, n)
}

func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.get().FindAllStringIndex(s, n)
}

func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.get().FindAllSubmatch(b, n)
}

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}

func (r *Regexp) ReplaceAll(src, repl []byte) []byte {
	return r.get().ReplaceAll(src, repl)
}

func (r *Regexp) ReplaceAllFunc(src []byte, f func([]byte) []byte) []byte {
	return r.get().ReplaceAllFunc(src, f)
}

func (r *Regexp) ReplaceAllString(src, repl string) string {
	return r.get().ReplaceAllString(src, repl)
}
