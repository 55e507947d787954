package process

import (
	"io"
	"os"
	"strings"
	"testing"
)

// More must never be said of a line that is not there yet: what was read
// before it would be kept back until then.
func TestMoreSaysThatAWholeLineIsThere(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r := newLineReader(in, 1<<20)
	long := strings.Repeat("x", readBuffer+10)
	go func() {
		_, _ = out.WriteString("a\nb\nc")
	}()
	for _, want := range []struct {
		text          string
		more, partial bool
	}{{"a", true, false}, {"b", false, false}, {"c", false, false}, {long, false, false}, {"d", false, true}} {
		switch want.text {
		case "c": // its end comes alone
			if _, err := out.WriteString("\n"); err != nil {
				t.Fatal(err)
			}
		case long:
			go func() {
				_, _ = out.WriteString(long + "\nd")
				out.Close()
			}()
		}
		line, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		if string(line.Bytes) != want.text || line.More != want.more || line.Partial != want.partial {
			t.Errorf("%.10q of %d bytes, more %v, partial %v; want %.10q, %v, %v",
				line.Bytes, len(line.Bytes), line.More, line.Partial, want.text, want.more, want.partial)
		}
	}
	if _, err := r.next(); err != io.EOF {
		t.Errorf("got %v", err)
	}
}
