package pair

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/errors"
)

// clock is a time that moves only when it is told to.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func start() (*Codes, *clock) {
	c := &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	return NewCodes(c.now), c
}

func refused(t *testing.T, err, want error) {
	t.Helper()
	if err != want || !errors.Is(err, ErrRefused) {
		t.Errorf("got %v, want %v", err, want)
	}
}

// A code is good once.
func TestCodeIsGoodOnce(t *testing.T) {
	codes, _ := start()
	code := codes.New()
	if err := codes.Redeem(code); err != nil {
		t.Fatal(err)
	}
	refused(t, codes.Redeem(code), errUsed)
	refused(t, codes.Redeem(code), errUsed)
}

// 128 bits, and other ones each time, in letters that a link can carry as
// they are.
func TestCodeIsRandom(t *testing.T) {
	codes, _ := start()
	seen := map[string]bool{}
	for range 1000 {
		code := codes.New()
		raw, err := base64.RawURLEncoding.DecodeString(code)
		if err != nil || len(raw) != 16 || len(code) != length {
			t.Fatalf("%q: %d bytes, %v", code, len(raw), err)
		}
		if seen[code] {
			t.Fatalf("%q came twice", code)
		}
		seen[code] = true
	}
}

func TestCodeExpires(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		want  error
	}{
		{0, nil}, {Lifetime - 1, nil}, {Lifetime, errExpired}, {Lifetime + 1, errExpired}, {1000 * time.Hour, errExpired},
		{-time.Second, errExpired}, // the clock was set back
	} {
		codes, clock := start()
		code := codes.New()
		clock.at = clock.at.Add(c.after)
		if err := codes.Redeem(code); err != c.want {
			t.Errorf("after %v: got %v, want %v", c.after, err, c.want)
		}
	}
}

// A used code stays used, also when it is old; an expired one is not used up
// by trying.
func TestWordsOfARefusal(t *testing.T) {
	codes, clock := start()
	used, old := codes.New(), codes.New()
	if err := codes.Redeem(used); err != nil {
		t.Fatal(err)
	}
	clock.at = clock.at.Add(2 * Lifetime)
	refused(t, codes.Redeem(used), errUsed)
	refused(t, codes.Redeem(old), errExpired)
	refused(t, codes.Redeem(old), errExpired)
}

// A fresh code does not cancel an older one.
func TestFreshCodesLeaveOlderOnesGood(t *testing.T) {
	codes, _ := start()
	var made []string
	for range Most {
		made = append(made, codes.New())
	}
	for i, code := range made {
		if err := codes.Redeem(code); err != nil {
			t.Errorf("code %d: %v", i, err)
		}
	}
}

// Beyond Most the spent ones go first, then the oldest.
func TestBoundOfCodes(t *testing.T) {
	codes, clock := start()
	var made []string
	for range Most {
		made = append(made, codes.New())
	}
	if err := codes.Redeem(made[5]); err != nil {
		t.Fatal(err)
	}
	codes.New()
	refused(t, codes.Redeem(made[5]), errUnknown) // its place was taken
	codes.New()
	refused(t, codes.Redeem(made[0]), errUnknown) // the oldest
	for i, code := range made {
		if i == 0 || i == 5 {
			continue
		}
		if err := codes.Redeem(code); err != nil {
			t.Errorf("code %d: %v", i, err)
		}
	}
	clock.at = clock.at.Add(Lifetime)
	for range 10 * Most {
		codes.New()
	}
	if n := len(codes.codes); n != Most {
		t.Errorf("%d codes are kept, want %d", n, Most)
	}
}

func TestWrongCodes(t *testing.T) {
	codes, _ := start()
	code := codes.New()
	for _, wrong := range []string{
		"", code[1:], code + "A", code[:21] + "!", strings.ToUpper(code) + " ", " " + code, code + "==", strings.Repeat("A", 22), strings.Repeat("A", 1<<20),
	} {
		refused(t, codes.Redeem(wrong), errUnknown)
	}
	if err := codes.Redeem(code); err != nil {
		t.Errorf("wrong guesses cost the right code: %v", err)
	}
}

// What is kept of a code cannot be redeemed, and no error quotes one.
func TestCodesAreNotKept(t *testing.T) {
	codes, _ := start()
	code := codes.New()
	if kept := fmt.Sprintf("%+v", reflect.ValueOf(codes.codes)); strings.Contains(kept, code) {
		t.Errorf("kept: %s", kept)
	}
	if err := codes.Redeem(code); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{code, strings.Repeat("A", 22)} {
		if err := fmt.Sprintf("%+v", codes.Redeem(wrong)); strings.Contains(err, wrong) {
			t.Errorf("the refusal quotes the code: %s", err)
		}
	}
}

// Of many that come at the same time, one gets in.
func TestOneOfManyRedeems(t *testing.T) {
	codes := NewCodes(nil)
	code := codes.New()
	var in atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if codes.Redeem(code) == nil {
				in.Add(1)
			}
			codes.New()
		})
	}
	wg.Wait()
	if n := in.Load(); n != 1 {
		t.Errorf("%d were let in", n)
	}
}

func TestLink(t *testing.T) {
	if got := Link("http://127.0.0.1:4040", "abc"); got != "http://127.0.0.1:4040/pair#abc" {
		t.Errorf("got %s", got)
	}
}
