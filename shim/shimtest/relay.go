package shimtest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// relayCommand is the name under which this test binary is one of the two
// processes of Relay.
const relayCommand = "shimtest-relay"

// Relay is what carrying n lines from one process through a second to this
// one costs at least, with a pipe and a socket between them as with a shim:
// each line is the time it was written, in nanoseconds since 1970, one a
// millisecond.
func (s *Stage) Relay(n int) io.Reader {
	s.T.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.T.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(relayCommand, strconv.Itoa(n), l.Addr().String())
	cmd.Env, cmd.Stderr = s.Environ(), os.Stderr
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() {
		if err := cmd.Wait(); err != nil {
			s.T.Errorf("%s: %v", relayCommand, err)
		}
	})
	if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.T.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { conn.Close() })
	return conn
}

func relayMain() {
	if err := relay(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, relayCommand+":", err)
		os.Exit(1)
	}
}

// relay writes n lines to stdout, or passes on those of a process of its own
// to the address that to names.
func relay(n string, to []string) error {
	if len(to) == 0 {
		lines, err := strconv.Atoi(n)
		for range lines {
			time.Sleep(time.Millisecond)
			fmt.Println(time.Now().UnixNano())
		}
		return err
	}
	conn, err := net.Dial("tcp", to[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	source := exec.Command(relayCommand, n)
	source.Stderr = os.Stderr
	lines, err := source.StdoutPipe()
	if err != nil {
		return err
	}
	if err := source.Start(); err != nil {
		return err
	}
	if _, err := io.Copy(conn, lines); err != nil {
		return err
	}
	return source.Wait()
}
