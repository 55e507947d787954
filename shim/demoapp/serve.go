package demoapp

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
)

//go:embed reload.js
var reload []byte

// types of the files that a page consists of, whatever this system thinks.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// Server serves a folder to browsers on this machine.
type Server struct {
	URL  string // http://127.0.0.1:PORT
	http *http.Server
	root *os.Root
	stop func()
	done chan struct{}
	w    *watcher
}

// Serve serves a folder on a free port of loopback. Close must be called.
func Serve(dir string) (*Server, error) {
	root, err := os.OpenRoot(dir) // nothing outside of it is reached, not even by a link
	if err != nil {
		return nil, errors.Wrap(err, "serve the app")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		root.Close()
		return nil, errors.Wrap(err, "serve the app")
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{URL: "http://" + l.Addr().String(), root: root, stop: cancel, done: make(chan struct{}), w: watch(root.FS())}
	s.http = &http.Server{Handler: s.handler(l.Addr().String()), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		defer close(s.done)
		s.w.run(ctx)
	}()
	go s.http.Serve(l) //nolint:errcheck // it ends by Close
	return s, nil
}

// Close ends the server and all its connections.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	<-s.done
	return errors.CombineErrors(err, s.root.Close())
}

func (s *Server) handler(addr string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/reload.js", func(w http.ResponseWriter, r *http.Request) { send(w, r, ".js", reload) })
	mux.HandleFunc("GET /-/changes", s.changes)
	mux.HandleFunc("GET /", s.file)
	_, port, _ := net.SplitHostPort(addr) // it is our listener's
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A name that was led here by somebody else's DNS gets nothing.
		if r.Host != addr && r.Host != "localhost:"+port {
			http.Error(w, "not here", http.StatusForbidden)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// file sends a file of the folder; a page gets the script that keeps it up to
// date.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	since := s.w.count() // before the file is read: a change too many is harmless
	if hidden(name) || !fs.ValidPath(name) {
		http.NotFound(w, r)
		return
	}
	data, err := fs.ReadFile(s.root.FS(), name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	if path.Ext(name) == ".html" {
		script := fmt.Appendf(nil, "<script src=\"/-/reload.js\" data-since=\"%d\"></script>\n", since)
		if at := bytes.LastIndex(data, []byte("</body>")); at >= 0 {
			data = append(append(bytes.Clone(data[:at]), script...), data[at:]...)
		} else {
			data = append(data, script...)
		}
	}
	send(w, r, path.Ext(name), data)
}

func send(w http.ResponseWriter, r *http.Request, ext string, data []byte) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if t := types[ext]; t != "" {
		w.Header().Set("Content-Type", t)
	} else {
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// changes tells which files have changed since a page was sent, and which
// change while it is shown.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Query().Get("since"))
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		n, err = strconv.Atoi(last)
	}
	if err != nil || n < 0 {
		http.Error(w, "since: a number", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	for {
		changed, more := s.w.since(n)
		for _, name := range changed {
			n++
			data, _ := json.Marshal(name) // a string always encodes
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", n, data)
		}
		if flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-more:
		}
	}
}
