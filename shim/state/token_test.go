package state

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/errors"
)

func TestToken(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, home)
	}
	repo := t.TempDir()
	a, err := Token(os.Environ(), repo)
	check(t, err)
	if b, err := Token(os.Environ(), repo+"/."); err != nil || b != a {
		t.Errorf("%q, then %q, %v", a, b, err)
	}
	if raw, err := base64.RawURLEncoding.DecodeString(a); err != nil || len(raw) != 32 {
		t.Errorf("%q has %d bytes, %v; want 256 bits", a, len(raw), err)
	}
	if c, err := Token(os.Environ(), t.TempDir()); err != nil || c == a {
		t.Errorf("another repository: %q, %v", c, err)
	}
	if _, err := Token(os.Environ(), repo+"/none"); err == nil {
		t.Error("a token for a folder that does not exist")
	}
	config, err := os.UserConfigDir()
	check(t, err)
	if os.PathSeparator == '/' {
		assertPrivate(t, filepath.Join(config, "slidewrite"), 5)
	}
}

func TestTokenFile(t *testing.T) {
	dir, repo := t.TempDir()+"/slidewrite", t.TempDir()
	first, err := tokenIn(dir, repo)
	check(t, err)
	files, err := filepath.Glob(dir + "/tokens/[0-9a-f]*")
	check(t, err)
	if len(files) != 1 {
		t.Fatalf("%v", files)
	}
	tests := []struct {
		name, holds, want string // want "" = an error, "new" = another token
	}{
		{"as written", first + "\n", first},
		{"set by the user", " a-token-of-the-users-own \n", "a-token-of-the-users-own"},
		{"empty token is impossible", "", "new"},
		{"empty token is impossible", " \n", "new"},
		{"too short", "secret\n", ""},
		{"two lines", first + "\n" + first, ""},
	}
	for _, tt := range tests {
		check(t, os.WriteFile(files[0], []byte(tt.holds), 0o600))
		check(t, os.Chmod(files[0], 0o644))
		got, err := tokenIn(dir, repo)
		switch {
		case tt.want == "" && (err == nil || len(errors.GetAllHints(err)) == 0 || strings.Contains(err.Error(), first)):
			t.Errorf("%s: %q, %v", tt.name, got, err)
		case tt.want == "new" && (err != nil || len(got) != 43 || got == first), tt.want != "" && tt.want != "new" && got != tt.want:
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
		if os.PathSeparator == '/' {
			assertPrivate(t, dir, 4)
		}
	}
}

// Two shims at once get the same token.
func TestTokenAcrossProcesses(t *testing.T) {
	dir, repo := t.TempDir()+"/slidewrite", t.TempDir()
	var all []*other
	for range 4 {
		all = append(all, start(t, "token", dir, repo))
	}
	var tokens []string
	for _, o := range all {
		o.await()
		o.end()
		tokens = append(tokens, o.said)
	}
	for _, token := range tokens {
		if token != tokens[0] || len(token) != 43 {
			t.Errorf("%q", tokens)
		}
	}
}

func TestReadSecretFlag(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) string {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
		return "@" + filepath.Join(dir, name)
	}
	tests := []struct {
		value, want string
		says        string // of the error, "" = none
	}{
		{"plain", "plain", ""},
		{"", "", ""},
		{"a@b", "a@b", ""},
		{write("one", "secret\n"), "secret", ""},
		{write("crlf", "\r\n secret \r\n"), "secret", ""},
		{write("empty", "\n"), "", "is empty"},
		{write("big", strings.Repeat("x", maxSecret+1)), "", "is larger than"},
		{"@" + filepath.Join(dir, "none"), "", "read the secret"},
		{"@" + dir, "", "read the secret"},
		{"@", "", "read the secret"},
	}
	for _, tt := range tests {
		got, err := ReadSecretFlag(tt.value)
		if got != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %q, %v; want %q, %q", tt.value, got, err, tt.want, tt.says)
		}
	}
}
