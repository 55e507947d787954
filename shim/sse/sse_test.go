package sse_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/sse"
)

// collect reads a whole stream; err is the last pair's.
func collect(r io.Reader) (frames []sse.Frame, err error) {
	for f, e := range sse.Read(r) {
		if e != nil {
			return frames, e
		}
		frames = append(frames, f)
	}
	return frames, nil
}

// response is an HTTP response that has neither deadlines nor a flush.
type response struct{ io.Writer }

func (response) Header() http.Header { return http.Header{} }
func (response) WriteHeader(int)     {}

// plain is a Writer whose bytes end up in w.
func plain(w io.Writer) *sse.Writer { return sse.NewWriter(response{w}, 0) }

func show(frames []sse.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "%d=%s|", f.ID, f.Data)
	}
	return b.String()
}

func TestWriterBytes(t *testing.T) {
	var buf bytes.Buffer
	w := plain(&buf)
	for i, data := range []string{`{"type":"start"}`, `{"type":"done"}`} {
		if err := w.Frame(sse.Frame{ID: int64(i + 1), Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	if buf.Len() != 0 {
		t.Fatalf("written before the flush: %q", buf.String())
	}
	if err := w.Ping(); err != nil {
		t.Fatal(err)
	}
	want := "id: 1\ndata: {\"type\":\"start\"}\n\nid: 2\ndata: {\"type\":\"done\"}\n\n: ping\n\n"
	if buf.String() != want {
		t.Errorf("got %q, want %q", buf.String(), want)
	}
}

func TestWriterSetsHeadersOfTheContract(t *testing.T) {
	h := http.Header{}
	sse.SetHeader(h)
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestWriterWritesLargeChunksBeforeTheFlush(t *testing.T) {
	var buf bytes.Buffer
	w := plain(&buf)
	big := bytes.Repeat([]byte("x"), 1<<20)
	if err := w.Frame(sse.Frame{ID: 1, Data: big}); err != nil {
		t.Fatal(err)
	}
	if buf.Len() < len(big) {
		t.Errorf("wrote %d bytes, want the whole line", buf.Len())
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "id: 1\ndata: " + string(big) + "\n\n"; buf.String() != want {
		t.Errorf("wrote %d bytes, want %d", buf.Len(), len(want))
	}
}

// A huge event is not copied: what a stalled client costs does not grow with
// the events.
func TestWriterDoesNotCopyHugeData(t *testing.T) {
	frame := sse.Frame{ID: 1, Data: bytes.Repeat([]byte("x"), 32<<20)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := plain(io.Discard)
	if err := errors.CombineErrors(w.Frame(frame), w.Flush()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("writing a frame of 32 MiB allocated %d bytes", got)
	}
}

func TestWriterKeepsTheFirstError(t *testing.T) {
	broken := errors.New("cable cut")
	w := plain(failing{broken})
	if err := w.Frame(sse.Frame{ID: 1, Data: []byte("{}")}); err != nil {
		t.Fatalf("frame before anything is written: %v", err)
	}
	if err := w.Flush(); !errors.Is(err, broken) {
		t.Errorf("flush: got %v, want %v", err, broken)
	}
	if err := w.Frame(sse.Frame{ID: 2, Data: []byte("{}")}); !errors.Is(err, broken) {
		t.Errorf("later frame: got %v, want %v", err, broken)
	}
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

func TestReader(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"two frames", "id: 1\ndata: a\n\nid: 2\ndata: b\n\n", "1=a|2=b|"},
		{"crlf", "id: 1\r\ndata: a\r\n\r\nid: 2\r\ndata: b\r\n\r\n", "1=a|2=b|"},
		{"comments", ": hello\n\n: ping\n\nid: 1\n: inside\ndata: a\n\n: ping\n\n", "1=a|"},
		{"data over lines", "id: 3\ndata: a\ndata:  b\ndata\ndata:c\n\n", "3=a\n b\n\nc|"},
		{"no space after the colon", "id:4\ndata:{\"a\":1}\n\n", `4={"a":1}|`},
		{"id stays", "id: 5\ndata: a\n\ndata: b\n\n", "5=a|5=b|"},
		{"id that is no number", "id: 5\ndata: a\n\nid: x\ndata: b\n\nid: -1\ndata: c\n\n", "5=a|5=b|5=c|"},
		{"id alone moves on", "id: 5\n\ndata: b\n\n", "5=b|"},
		{"other fields", "event: delta\nretry: 3\nfoo: bar\nid: 1\ndata: a\n\n", "1=a|"},
		{"byte order mark", "\xef\xbb\xbfid: 1\ndata: a\n\n", "1=a|"},
		{"empty data", "data\n\nid: 1\ndata:\n\n", "0=|1=|"},
		{"line separators of Unicode are data", "id: 1\ndata: a\u2028b\u0085\n\n", "1=a\u2028b\u0085|"},
		{"nothing", "", ""},
		{"blank lines", "\n\n\n\r\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"whole": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
			} {
				got, err := collect(r)
				if err != nil || show(got) != c.want {
					t.Errorf("%s: got %q, %v, want %q", name, show(got), err, c.want)
				}
			}
		})
	}
}

func TestReaderTellsACutFromAnEnd(t *testing.T) {
	for _, cut := range []string{"id: 1\ndata: a\n\nid: 2\ndata: b\n", "id: 1\ndata: a\n\nid: 2\nda", "id: 1\ndata: a\n\nid: 2\n"} {
		got, err := collect(strings.NewReader(cut))
		if err != io.ErrUnexpectedEOF || show(got) != "1=a|" {
			t.Errorf("%q: got %q, %v", cut, show(got), err)
		}
	}
	broken := errors.New("reset")
	got, err := collect(io.MultiReader(strings.NewReader("id: 1\ndata: a\n\nid: 2\n"), iotest.ErrReader(broken)))
	if err != broken || show(got) != "1=a|" {
		t.Errorf("broken connection: got %q, %v", show(got), err)
	}
}

func TestReaderTakesHugeLines(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 4<<20/16)
	got, err := collect(strings.NewReader("id: 1\ndata: " + big + "\n\nid: 2\ndata: small\n\n"))
	if err != nil || len(got) != 2 || string(got[0].Data) != big || string(got[1].Data) != "small" {
		t.Fatalf("got %d frames, %v", len(got), err)
	}
}

func TestReaderFramesKeepTheirData(t *testing.T) {
	var in strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&in, "id: %d\ndata: frame %d\n\n", i+1, i+1)
	}
	got, err := collect(strings.NewReader(in.String()))
	if err != nil || len(got) != 5000 {
		t.Fatalf("got %d frames, %v", len(got), err)
	}
	for i, f := range got {
		if want := fmt.Sprintf("frame %d", i+1); string(f.Data) != want || f.ID != int64(i+1) {
			t.Fatalf("frame %d: got %d %q", i+1, f.ID, f.Data)
		}
	}
}

func TestReaderStopsWhenAsked(t *testing.T) {
	n := 0
	for range sse.Read(strings.NewReader("data: a\n\ndata: b\n\n")) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d frames", n)
	}
}

// A client that does not read has its connection closed: the write fails with
// a deadline, and what the client gets in the end is a stream without an end.
func TestWriterGivesUpOnAStalledClient(t *testing.T) {
	failed := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sse.SetHeader(w.Header())
		out := sse.NewWriter(w, 50*time.Millisecond)
		data := bytes.Repeat([]byte("x"), 64<<10)
		for id := int64(1); ; id++ {
			if err := out.Frame(sse.Frame{ID: id, Data: data}); err != nil {
				failed <- err
				panic(http.ErrAbortHandler)
			}
		}
	}))
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	select {
	case err := <-failed:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v, want a deadline", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the writer still waits for a client that does not read")
	}
}

// After Close the connection has no deadline and serves the next request.
func TestWriterLeavesTheConnectionUsable(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		out := sse.NewWriter(w, time.Hour)
		_ = out.Frame(sse.Frame{ID: 1, Data: []byte("{}")})
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	}))
	defer srv.Close()
	for range 2 {
		resp, err := srv.Client().Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := collect(resp.Body)
		resp.Body.Close()
		if err != nil || show(got) != "1={}|" {
			t.Fatalf("got %q, %v", show(got), err)
		}
	}
}

// Whatever is written comes back, with line ends made LF.
func FuzzRoundTrip(f *testing.F) {
	f.Add(int64(1), []byte(`{"type":"delta","text":"é\u2028"}`), []byte(`{"type":"done"}`))
	f.Add(int64(0), []byte(""), []byte("\n"))
	f.Add(int64(7), []byte("a\r\nb\rc\n\n"), []byte(": comment\ndata: x\nid: 9"))
	f.Add(int64(1<<62), []byte(" leading space"), bytes.Repeat([]byte("long "), 20000))
	f.Add(int64(3), []byte("\xef\xbb\xbf\x00\xff"), []byte(":"))
	f.Fuzz(func(t *testing.T, id int64, a, b []byte) {
		id &= 1<<62 - 1
		var buf bytes.Buffer
		w := plain(&buf)
		for i, data := range [][]byte{a, b} {
			if err := w.Frame(sse.Frame{ID: id + int64(i), Data: data}); err != nil {
				t.Fatal(err)
			}
			_ = w.Ping()
		}
		got, err := collect(&buf)
		if err != nil || len(got) != 2 {
			t.Fatalf("got %d frames, %v", len(got), err)
		}
		for i, data := range [][]byte{a, b} {
			want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
			if got[i].ID != id+int64(i) || string(got[i].Data) != want {
				t.Fatalf("frame %d: got %d %q, want %q", i, got[i].ID, got[i].Data, want)
			}
		}
	})
}

// The reader takes any bytes: it never panics, and gives the same frames
// whatever the sizes of the reads are.
func FuzzRead(f *testing.F) {
	f.Add([]byte("id: 1\r\ndata: a\r\n\r\n"))
	f.Add([]byte("data\n\n:\nid\nid:\nid: 99999999999999999999\n\ndata:x\n\nda"))
	f.Add([]byte("\xef\xbb\xbfdata: a\ndata: b\n\n\r\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, errA := collect(bytes.NewReader(in))
		b, errB := collect(iotest.OneByteReader(bytes.NewReader(in)))
		if errA != errB || show(a) != show(b) {
			t.Fatalf("whole: %q %v; byte by byte: %q %v", show(a), errA, show(b), errB)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	frame := sse.Frame{ID: 123456, Data: []byte(`{"type":"delta","text":"a few words ","messageId":"msg_01"}`)}
	w := plain(io.Discard)
	b.SetBytes(int64(len(frame.Data)))
	b.ReportAllocs()
	for b.Loop() {
		_ = w.Frame(frame)
	}
}

func BenchmarkReader(b *testing.B) {
	var buf bytes.Buffer
	w := plain(&buf)
	for i := range 1000 {
		_ = w.Frame(sse.Frame{ID: int64(i + 1), Data: []byte(`{"type":"delta","text":"a few words ","messageId":"msg_01"}`)})
	}
	_ = w.Flush()
	b.SetBytes(int64(buf.Len()))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range sse.Read(bytes.NewReader(buf.Bytes())) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
