package grok

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// The test binary plays the CLI when fakeMode is set.
const fakeMode = "TEST_FAKE_GROK"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeMode); mode != "" {
		os.Exit(playCLI(mode, os.Args[1:]))
	}
	os.Exit(m.Run())
}

const (
	planBanner = "You are logged in with grok.com.\n"
	keyBanner  = "You are using XAI_API_KEY.\n"
	outBanner  = "You are not authenticated.\n"
	list       = "\nDefault model: grok-4.6\n\nAvailable models:\n  * grok-4.6 (default)\n  - grok-4.5\n"
)

// playCLI answers as the CLI does; mode says what is wrong with it.
func playCLI(mode string, args []string) int {
	switch {
	case slices.Equal(args, []string{"--version"}):
		fmt.Println("grok 1.0.6 (abc1234) [stable]")
		return 0
	case !slices.Equal(args, []string{"models"}):
		fmt.Fprintln(os.Stderr, "error: unexpected argument")
		return 2
	}
	hasKey := os.Getenv("XAI_API_KEY") != ""
	switch mode {
	case "plan":
		fmt.Print(planBanner + list)
	case "plan and key": // the key is named first, the session is what is taken
		if hasKey {
			fmt.Print(keyBanner + list)
		} else {
			fmt.Print(planBanner + list)
		}
	case "key":
		if hasKey {
			fmt.Print(keyBanner + list)
		} else {
			fmt.Print(outBanner + list)
		}
	case "signed out":
		fmt.Print(outBanner + list)
	case "empty":
		fmt.Print(planBanner + "\nDefault model: none\n\nAvailable models:\n")
	case "old":
		fmt.Fprintln(os.Stderr, "error: unrecognized subcommand 'models'")
		return 2
	case "expired":
		fmt.Fprintln(os.Stderr, "Error: Authentication required: \"the session has expired\"")
		return 1
	case "refused":
		fmt.Fprintln(os.Stderr, "Error: not on this machine")
		return 1
	case "silent":
		return 3
	case "another program":
		fmt.Println("hello, I am a game of the same name")
	case "hang":
		signal.Notify(make(chan os.Signal, 1), os.Interrupt) // else the runtime sees that nobody can wake it
		select {}
	}
	return 0
}

func discovery(t *testing.T, mode string, env ...string) agent.Discovery {
	t.Helper()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := agent.Discovery{Bin: bin, Repo: t.TempDir(), TempDir: t.TempDir()}
	d.Env = append(os.Environ(), fakeMode+"="+mode, "HOME="+t.TempDir())
	d.Env = append(d.Env, env...)
	return d
}

func TestDiscover(t *testing.T) {
	const key = "XAI_API_KEY=xai-loopback-dummy-abcd"
	tests := []struct {
		mode     string
		env      []string
		billing  string
		err, fix string
	}{
		{"plan", nil, "plan", "", ""},
		{"plan and key", []string{key}, "plan", "", ""},
		{"key", []string{key}, "api key …abcd", "", ""},
		{"key", []string{"XAI_API_KEY=short"}, "api key", "", ""},
		{"signed out", nil, "", "grok is not signed in", "grok login"},
		{"signed out", []string{key}, "", "grok is not signed in", "grok login"},
		{"expired", nil, "", "the sign-in of grok has expired", "grok login"},
		{"empty", nil, "", "grok offers no models", "grok update"},
		{"old", nil, "", "this version of grok does not know an option it was given", "grok update"},
		{"refused", nil, "", "grok refused to list its models: Error: not on this machine", "run grok once in a terminal and see what it says"},
		{"silent", nil, "", "grok refused to list its models: it ended without a word", "run grok once in a terminal and see what it says"},
		{"another program", nil, "", os.Args[0] + " does not answer like grok: it printed “hello, I am a game of the same name”", "pass the path of the grok program with --grok-bin"},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i, " ", tt.mode), func(t *testing.T) {
			info := New(Options{}).Discover(t.Context(), discovery(t, tt.mode, tt.env...))
			if info.Billing != tt.billing || info.Error != tt.err || info.Fix != tt.fix {
				t.Errorf("got %+v", info)
			}
			if healthy := tt.err == ""; healthy != (len(info.Models) == 2) || healthy != (info.DefaultModel == "grok-4.6") {
				t.Errorf("%d models, default %q, error %q", len(info.Models), info.DefaultModel, info.Error)
			}
		})
	}
}

func TestDiscoverNotFound(t *testing.T) {
	info := New(Options{}).Discover(t.Context(), agent.Discovery{Bin: "/nowhere/grok", Repo: t.TempDir(), TempDir: t.TempDir()})
	if !strings.HasPrefix(info.Error, "grok could not be started: ") || !strings.Contains(info.Fix, "--grok-bin") {
		t.Errorf("got %+v", info)
	}
}

func TestDiscoverTimeout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	info := New(Options{}).Discover(ctx, discovery(t, "hang"))
	if info.Error != "grok did not answer in time" || info.Fix == "" || len(info.Models) != 0 {
		t.Errorf("it hangs: %+v", info)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if info := New(Options{}).Discover(ended, discovery(t, "hang")); info.Error != "grok was not waited for" || len(info.Models) != 0 {
		t.Errorf("cancelled: %+v", info)
	}
}

func TestReadListing(t *testing.T) {
	tests := []struct {
		name, stdout string
		want         listing
	}{
		{"plan", planBanner + list, listing{plan: true, preset: "grok-4.6", ids: []string{"grok-4.6", "grok-4.5"}}},
		{"another host", "You are logged in with grok.example.com.\n" + list, listing{plan: true, preset: "grok-4.6", ids: []string{"grok-4.6", "grok-4.5"}}},
		{"key of a model", "Model 'local' is using its own API key.\n\nDefault model: local\n\nAvailable models:\n  * local (default)\n", listing{key: true, preset: "local", ids: []string{"local"}}},
		{"deployment", "You are authenticated via deployment key.\n" + list, listing{key: true, preset: "grok-4.6", ids: []string{"grok-4.6", "grok-4.5"}}},
		{"no default line", "Available models:\n  - a\n  * b (default)\n  - a\n  - -flag\n", listing{preset: "b", ids: []string{"a", "b"}}},
		{"nothing", "", listing{}},
	}
	for _, tt := range tests {
		if got := readListing(tt.stdout); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// cacheFile is models_cache.json of the fixture "models", fetched at that time.
func cacheFile(t *testing.T, fetched time.Time, edit ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash("../../../fakeagents/fixtures/grok/made/1.0.6/models.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, cache, found := strings.Cut(string(data), "-- disk/models_cache.json --\n")
	if !found {
		t.Fatal("the fixture has no list")
	}
	return strings.NewReplacer(append(edit, "{{TIME}}", fetched.UTC().Format(time.RFC3339))...).Replace(cache)
}

func TestCachedModels(t *testing.T) {
	now := time.Date(2026, 8, 19, 12, 0, 0, 0, time.UTC)
	efforts := []agent.Effort{{ID: "default", Label: "Default", Description: "High Effort"}, {ID: "low", Label: "Low Effort"}, {ID: "high", Label: "High Effort"}}
	full := []agent.Model{
		{ID: "grok-4.6", Label: "Grok 4.6", Description: "The best one", Efforts: efforts, DefaultEffort: "default"},
		{ID: "grok-4.5", Label: "Grok 4.5", Description: "A fast one"},
	}
	bare := []agent.Model{{ID: "grok-4.6", Label: "grok-4.6"}, {ID: "grok-4.5", Label: "grok-4.5"}}
	tests := []struct {
		name    string
		cache   string // "" = none
		version string
		plan    bool
		want    []agent.Model
	}{
		{"fresh", cacheFile(t, now.Add(-time.Minute)), "1.0.6", true, full},
		{"the version is not known", cacheFile(t, now), "", true, full},
		{"old", cacheFile(t, now.Add(-301*time.Second)), "1.0.6", true, bare},
		{"of the future", cacheFile(t, now.Add(time.Hour)), "1.0.6", true, bare},
		{"of another version", cacheFile(t, now), "1.0.7", true, bare},
		{"of another sign-in", cacheFile(t, now), "1.0.6", false, bare},
		{"torn", cacheFile(t, now)[:200], "1.0.6", true, bare},
		{"none", "", "1.0.6", true, bare},
		{"efforts that are no words", cacheFile(t, now, `"value": "low"`, `"value": "--low"`, `"value": "high"`, `"value": "default"`), "1.0.6", true,
			[]agent.Model{{ID: "grok-4.6", Label: "Grok 4.6", Description: "The best one"}, full[1]}},
	}
	for _, tt := range tests {
		home := t.TempDir()
		if tt.cache != "" {
			if err := os.WriteFile(filepath.Join(home, "models_cache.json"), []byte(tt.cache), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l := listing{plan: tt.plan, key: !tt.plan, preset: "grok-4.5", ids: []string{"grok-4.6", "grok-4.5"}}
		got, preset := models(l, New(Options{Home: home}).cached(nil, tt.version, l, now))
		if !reflect.DeepEqual(got, tt.want) || preset != "grok-4.5" {
			t.Errorf("%s: %+v, default %s", tt.name, got, preset)
		}
	}
}

// Nothing but the list is read: the file with the credentials beside it could
// as well be a trap.
func TestCredentialsAreNotRead(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(err)
	}
	for _, file := range sources {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") && strings.Contains(string(data), `"auth.json"`) {
			t.Errorf("%s names auth.json", file)
		}
	}
}
