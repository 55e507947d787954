package claude

import "bytes"

// A list stands on gigabytes, of which a few members of a few records count.
// So records are walked over, not decoded: strings are skipped by a search for
// their quote, and what lies in a string is never taken for a member.

// skim walks over one JSON value. Anything that is not JSON ends the walk.
type skim struct {
	b []byte
	i int
}

// members calls visit for each member of the object at s.i, until it returns
// false. visit finds s at the value and may leave it there or behind it. It
// reports whether the object was walked to its end.
func (s *skim) members(visit func(key []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		key, ok := s.text()
		if !ok || !s.take(':') {
			return false
		}
		s.space()
		at := s.i
		if !visit(key) {
			return false
		}
		if s.i == at && !s.skip() {
			return false
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// elements is members for a list.
func (s *skim) elements(visit func() bool) bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for {
		s.space()
		at := s.i
		if !visit() {
			return false
		}
		if s.i == at && !s.skip() {
			return false
		}
		if !s.take(',') {
			return s.take(']')
		}
	}
}

// skip goes behind the value at s.i.
func (s *skim) skip() bool {
	depth := 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			if !s.skipText() {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return true // the end of a bare word before it
			}
			if depth--; depth == 0 {
				s.i++
				return true
			}
		case ',':
			if depth == 0 {
				return true
			}
		}
		s.i++
	}
	return false
}

// text is the string at s.i as it is written: between its quotes.
func (s *skim) text() ([]byte, bool) {
	s.space()
	start := s.i + 1
	if s.i >= len(s.b) || s.b[s.i] != '"' || !s.skipText() {
		return nil, false
	}
	return s.b[start : s.i-1], true
}

// skipText goes behind the string at s.i.
func (s *skim) skipText() bool {
	i := s.i + 1
	for {
		n := bytes.IndexByte(s.b[i:], '"')
		if n < 0 {
			s.i = len(s.b)
			return false
		}
		i += n
		slashes := i
		for s.b[slashes-1] == '\\' {
			slashes--
		}
		i++
		if (i-1-slashes)%2 == 0 {
			s.i = i
			return true
		}
	}
}

// take goes behind c, if it comes next.
func (s *skim) take(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *skim) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\r' || s.b[s.i] == '\n') {
		s.i++
	}
}

// isTrue tells whether the value at s.i is true.
func (s *skim) isTrue() bool { return bytes.HasPrefix(s.b[s.i:], []byte("true")) }

// next is the byte the value at s.i begins with, 0 at the end.
func (s *skim) next() byte {
	if s.i >= len(s.b) {
		return 0
	}
	return s.b[s.i]
}
