package process

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestParseStat(t *testing.T) {
	const rest = " S 1 4242 4242 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 2 3"
	for _, c := range []struct {
		stat string
		want entry
		ok   bool
	}{
		{"77 (sleep)" + rest, entry{pid: 77, ppid: 1, sid: 4242, start: 987654, name: "sleep"}, true},
		{"77 (a) S 9 (b)" + rest, entry{pid: 77, ppid: 1, sid: 4242, start: 987654, name: "a) S 9 (b"}, true},
		{"77 (x)" + strings.Replace(rest, " S ", " Z ", 1), entry{pid: 77, ppid: 1, sid: 4242, start: 987654, name: "x", zombie: true}, true},
		{"9 (kworker/0:1)" + strings.Replace(rest, "4194560", "69238880", 1), entry{}, false},
		{"77 (x)" + strings.Replace(rest, "987654", "soon", 1), entry{}, false},
		{"77 (x) S 1 2", entry{}, false},
		{"", entry{}, false},
		{")(", entry{}, false},
	} {
		got, ok := parseStat([]byte(c.stat))
		if ok != c.ok || ok && got != c.want {
			t.Errorf("parseStat(%q) = %+v, %v; want %+v, %v", c.stat, got, ok, c.want, c.ok)
		}
	}
	if e, ok := lookup(os.Getpid()); !ok || e.ppid != os.Getppid() || e.start == 0 {
		t.Errorf("lookup(self) = %+v, %v", e, ok)
	}
}

func TestHasVar(t *testing.T) {
	env := []byte("A=1\x00SLIDEWRITE_RUN=h.1\x00B=x\x00")
	for kv, want := range map[string]bool{
		"SLIDEWRITE_RUN=h.1": true, "SLIDEWRITE_RUN=h.": false, "SLIDEWRITE_RUN=h.11": false, "RUN=h.1": false, "A=1": true,
	} {
		if got := hasVar(env, kv); got != want {
			t.Errorf("hasVar(%q) = %v", kv, got)
		}
	}
}

// A pid that has gone to another process gets no signal.
func TestSendComparesTheStartTime(t *testing.T) {
	f := start(t, sh(t, `read line; exit 6`))
	e, ok := lookup(f.PID())
	if !ok {
		t.Fatal("the process is not listed")
	}
	e.start--
	if err := send(e, 9); err == nil {
		t.Error("a signal was sent to a later process of the same pid")
	}
	f.CloseStdin()
	if exit := f.Wait(); exit.Code != 6 {
		t.Errorf("exit = %+v, want 6", exit)
	}
}

func TestSocketTables(t *testing.T) {
	for _, c := range []struct {
		parse func([]string) (string, string)
		row   string
		want  string
	}{
		{parseTCP, "0: 0100007F:1435 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1", "4711 tcp 127.0.0.1:5173"},
		{parseTCP, "0: 0100007F:1435 00000000:0000 01 00000000:00000000 00:00000000 00000000 0 0 4711 1", " "},
		{parseTCP, "0: 00000000000000000000000001000000:0050 0:0 0A 0:0 0:0 0 0 0 12 1", "12 tcp [::1]:80"},
		{parseTCP, "sl local_address rem_address st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode", " "},
		{parseUnix, "0000000000000000: 00000002 00000000 00010000 0001 01 815 /tmp/a b", "815 unix /tmp/a b"},
		{parseUnix, "0000000000000000: 00000002 00000000 00010000 0001 01 815", "815 unix (unnamed)"},
		{parseUnix, "0000000000000000: 00000003 00000000 00000000 0001 03 815 /tmp/a", " "},
	} {
		inode, addr := c.parse(strings.Fields(c.row))
		if got := inode + " " + addr; got != c.want {
			t.Errorf("%q: %q, want %q", c.row, got, c.want)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("77 (a) b) S 1 4242 4242 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1"))
	f.Add([]byte("1 () ("))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if e, ok := parseStat(stat); ok && !bytes.Contains(stat, []byte("("+e.name+")")) {
			t.Errorf("name %q is not in %q", e.name, stat)
		}
	})
}
