package state

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cockroachdb/errors"
	"github.com/gofrs/flock"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// goodToken is what a token file may hold: at least 128 bits as base64url.
var goodToken = lazyregexp.New(`^[A-Za-z0-9_-]{22,}$`)

// Token returns the bearer token of a repository: 256 random bits, base64url,
// 43 characters. It is made once and kept in the user's config directory, mode
// 0600; two shims that ask at the same time get the same one. environ says
// where that directory is.
func Token(environ []string, repo string) (string, error) {
	config, err := configDir(runtime.GOOS, environ)
	if err != nil {
		return "", err
	}
	token, err := tokenIn(config, repo)
	return token, errors.Wrap(err, "token")
}

// configDir is where the user's configuration is kept, as os.UserConfigDir
// has it, for an environment other than the process's own too.
func configDir(goos string, environ []string) (string, error) {
	const name = "slidewrite"
	if goos == "windows" {
		if d := lookup(environ, "AppData", true); d != "" {
			return filepath.Join(d, name), nil
		}
	} else if d := lookup(environ, "XDG_CONFIG_HOME", false); filepath.IsAbs(d) {
		return filepath.Join(d, name), nil
	} else if home := lookup(environ, "HOME", false); home != "" && goos == "darwin" {
		return filepath.Join(home, "Library", "Application Support", name), nil
	} else if home != "" {
		return filepath.Join(home, ".config", name), nil
	}
	return "", errors.WithHint(errors.New("no place for the token: the environment names no home directory"), "set HOME (Windows: AppData), or pass --token")
}

func tokensDir(config string) string { return filepath.Join(config, "tokens") }

func tokenIn(dir, repo string) (string, error) {
	top, err := realPath(repo)
	if err != nil {
		return "", err
	}
	dir, err = secureDir(dir, "XDG_CONFIG_HOME")
	if err != nil {
		return "", err
	}
	dir = tokensDir(dir)
	if err := privateDir(dir); err != nil {
		return "", err
	}
	if err := hideFromGit(dir); err != nil {
		return "", err
	}
	l := flock.New(filepath.Join(dir, "lock"))
	if err := l.Lock(); err != nil {
		return "", errors.Wrap(err, "lock the tokens")
	}
	defer l.Unlock()
	return readOrMakeToken(filepath.Join(dir, hashPath(top)[:24]))
}

func readOrMakeToken(path string) (string, error) {
	b, err := readFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if token := strings.TrimSpace(string(b)); token != "" {
		if !goodToken.MatchString(token) {
			return "", errors.WithHintf(errors.Newf("%s does not hold a token", path), "remove %s and start again", path)
		}
		return token, nil
	}
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	token := base64.RawURLEncoding.EncodeToString(raw)
	return token, writeFile(path, []byte(token+"\n"))
}

// maxSecret is the size limit of a file named by @FILE, in bytes.
const maxSecret = 64 << 10

// ReadSecretFlag returns the secret that the value of a flag stands for: the
// value itself, or for @FILE what that file holds, without the white space
// around it. An empty file is an error, an empty value is not.
func ReadSecretFlag(value string) (string, error) {
	path, ok := strings.CutPrefix(value, "@")
	if !ok {
		return value, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", errors.Wrap(err, "read the secret")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", errors.Wrap(err, "read the secret")
	}
	b = bytes.TrimSpace(b)
	switch {
	case len(b) == 0:
		return "", errors.Newf("the secret file %s is empty", path)
	case len(b) > maxSecret:
		return "", errors.Newf("the secret file %s is larger than %d bytes", path, maxSecret)
	}
	return string(b), nil
}
