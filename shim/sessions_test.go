package shim

import (
	"path/filepath"
	"testing"
)

// TestCacheDir: the user's cache folder on each system. A relative one would
// be in the repository.
func TestCacheDir(t *testing.T) {
	for _, c := range []struct {
		goos    string
		environ []string
		want    string
	}{
		{"linux", []string{"HOME=/home/ada"}, "/home/ada/.cache"},
		{"linux", []string{"HOME=/home/ada", "XDG_CACHE_HOME=/var/cache/ada"}, "/var/cache/ada"},
		{"linux", []string{"XDG_CACHE_HOME=/one", "XDG_CACHE_HOME=/two"}, "/two"},
		{"linux", []string{"HOME=/home/ada", "XDG_CACHE_HOME=cache"}, "/home/ada/.cache"},
		{"linux", []string{"HOME=.", "XDG_CACHE_HOME="}, ""},
		{"linux", nil, ""},
		{"darwin", []string{"HOME=/Users/ada"}, "/Users/ada/Library/Caches"},
		{"darwin", []string{"HOME=/Users/ada", "XDG_CACHE_HOME=/c"}, "/c"},
		{"windows", []string{`LOCALAPPDATA=C:\Users\ada\AppData\Local`, "HOME=/x"}, `C:\Users\ada\AppData\Local`},
	} {
		if got := cacheDir(c.goos, c.environ); filepath.ToSlash(got) != filepath.ToSlash(c.want) {
			t.Errorf("%s %q: %q, want %q", c.goos, c.environ, got, c.want)
		}
	}
}

// Two folders of one repository have different sessions, and forget finds both
// indexes.
func TestHistoryCacheOfFolders(t *testing.T) {
	environ := []string{"HOME=/home/ada", "LocalAppData=/home/ada"}
	top := historyCache(environ, "/repos/shop")
	if filepath.Dir(top) != historyCache(environ, "") || top == historyCache(environ, "/repos/shop2") {
		t.Errorf("cache of a repository: %s", top)
	}
	names := map[string]bool{}
	for _, dir := range []string{"/repos/shop", "/repos/shop/web", "/repos/shop/api"} {
		for _, provider := range []string{"anthropic", "openai"} {
			names[cacheName(provider, dir, "/repos/shop")] = true
		}
	}
	if len(names) != 6 {
		t.Errorf("names %v", names)
	}
}
