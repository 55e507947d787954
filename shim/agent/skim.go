package agent

import "bytes"

// A list stands on gigabytes, of which a few members of a few records count.
// So records are walked over, not decoded: strings are skipped by a search for
// their quote, and what lies in a string is never taken for a member.

// Skim walks over one JSON value. Anything that is not JSON ends the walk.
type Skim struct {
	B []byte
	I int // where the walk is
}

// Members calls visit for each member of the object at s.I, until it returns
// false. visit finds s at the value and may leave it there or behind it. It
// reports whether the object was walked to its end.
func (s *Skim) Members(visit func(key []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		key, ok := s.Text()
		if !ok || !s.take(':') {
			return false
		}
		s.space()
		at := s.I
		if !visit(key) {
			return false
		}
		if s.I == at && !s.Skip() {
			return false
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// Elements is members for a list.
func (s *Skim) Elements(visit func() bool) bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for {
		s.space()
		at := s.I
		if !visit() {
			return false
		}
		if s.I == at && !s.Skip() {
			return false
		}
		if !s.take(',') {
			return s.take(']')
		}
	}
}

// Skip goes behind the value at s.I.
func (s *Skim) Skip() bool {
	depth := 0
	for s.I < len(s.B) {
		switch s.B[s.I] {
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
				s.I++
				return true
			}
		case ',':
			if depth == 0 {
				return true
			}
		}
		s.I++
	}
	return false
}

// Text is the string at s.I as it is written: between its quotes.
func (s *Skim) Text() ([]byte, bool) {
	s.space()
	start := s.I + 1
	if s.I >= len(s.B) || s.B[s.I] != '"' || !s.skipText() {
		return nil, false
	}
	return s.B[start : s.I-1], true
}

// skipText goes behind the string at s.I.
func (s *Skim) skipText() bool {
	i := s.I + 1
	for {
		n := bytes.IndexByte(s.B[i:], '"')
		if n < 0 {
			s.I = len(s.B)
			return false
		}
		i += n
		slashes := i
		for s.B[slashes-1] == '\\' {
			slashes--
		}
		i++
		if (i-1-slashes)%2 == 0 {
			s.I = i
			return true
		}
	}
}

// take goes behind c, if it comes next.
func (s *Skim) take(c byte) bool {
	s.space()
	if s.I < len(s.B) && s.B[s.I] == c {
		s.I++
		return true
	}
	return false
}

func (s *Skim) space() {
	for s.I < len(s.B) && (s.B[s.I] == ' ' || s.B[s.I] == '\t' || s.B[s.I] == '\r' || s.B[s.I] == '\n') {
		s.I++
	}
}

// IsTrue tells whether the value at s.I is true.
func (s *Skim) IsTrue() bool { return bytes.HasPrefix(s.B[s.I:], []byte("true")) }

// Next is the byte the value at s.I begins with, 0 at the end.
func (s *Skim) Next() byte {
	if s.I >= len(s.B) {
		return 0
	}
	return s.B[s.I]
}
