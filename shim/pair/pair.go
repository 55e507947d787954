// Package pair makes the one-time codes that bring a browser and a shim
// together. A code is 128 random bits in a link that the user opens: who sends
// it back within ten minutes is that user's browser, once. It knows no HTTP;
// what a redeemed code is answered with is the server's business.
//
// Flow: Codes.New → link → page → extension → Codes.Redeem → nil or ErrRefused.
//
// There is no lock-out after wrong guesses: 128 bits cannot be guessed, and a
// lock-out would let any program on the machine keep the user from pairing.
// What a guess costs is bounded instead: a code of the wrong form is refused
// before anything is computed, any other takes one hash and Most comparisons.
package pair

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"sync"
	"time"

	"github.com/cockroachdb/errors"
)

const (
	// Lifetime is how long a code can be redeemed.
	Lifetime = 10 * time.Minute
	// Most is how many codes are remembered, spent ones included. One more
	// takes the place of a spent one, or else of the oldest.
	Most = 32

	bits   = 128
	length = (bits + 5) / 6 // characters of base64url without padding
)

// ErrRefused marks every refusal of a code. Its words say which: they tell
// nothing to who does not have the code.
var ErrRefused = errors.New("this pairing code is refused")

var (
	errUnknown = errors.Mark(errors.New("this pairing link is not one of this shim's: it may be of an earlier start"), ErrRefused)
	errUsed    = errors.Mark(errors.New("this pairing link has been used already"), ErrRefused)
	errExpired = errors.Mark(errors.New("this pairing link has expired: it is good for ten minutes"), ErrRefused)
)

// Codes are the codes of one shim. They live in its memory only.
type Codes struct {
	now func() time.Time

	mu    sync.Mutex
	codes []code // oldest first
}

// code is what is kept of a code: not enough to redeem it.
type code struct {
	sum  [sha256.Size]byte
	made time.Time
	used bool
}

// NewCodes returns a shim's codes; now is its clock, nil = time.Now.
func NewCodes(now func() time.Time) *Codes {
	if now == nil {
		now = time.Now
	}
	return &Codes{now: now}
}

// New makes a code: 22 characters of base64url. Older ones stay good.
func (c *Codes) New() string {
	raw := make([]byte, bits/8)
	rand.Read(raw) // never fails
	s := base64.RawURLEncoding.EncodeToString(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.makeRoom()
	c.codes = append(c.codes, code{sum: sha256.Sum256([]byte(s)), made: c.now()})
	return s
}

// makeRoom drops one code if there are Most: one that cannot be redeemed any
// more, else the oldest. c.mu is held.
func (c *Codes) makeRoom() {
	if len(c.codes) < Most {
		return
	}
	drop := 0
	for i, old := range c.codes {
		if old.used || c.expired(old) {
			drop = i
			break
		}
	}
	c.codes = append(c.codes[:drop], c.codes[drop+1:]...)
}

// Redeem uses a code up. It fails with an error that is ErrRefused when the
// code is not one of New's, has been used, or is too old.
func (c *Codes) Redeem(s string) error {
	if len(s) != length {
		return errUnknown
	}
	sum := sha256.Sum256([]byte(s))
	c.mu.Lock()
	defer c.mu.Unlock()
	found := -1
	for i := range c.codes { // all of them, so that the time tells nothing
		if subtle.ConstantTimeCompare(sum[:], c.codes[i].sum[:]) == 1 {
			found = i
		}
	}
	switch {
	case found < 0:
		return errUnknown
	case c.codes[found].used:
		return errUsed
	case c.expired(c.codes[found]):
		return errExpired
	}
	c.codes[found].used = true
	return nil
}

// expired tells whether a code is too old, or from a time that has not come
// yet: then the clock was set back, and its age is not known.
func (c *Codes) expired(k code) bool {
	age := c.now().Sub(k.made)
	return age < 0 || age >= Lifetime
}

// Link is the address that hands a code to the extension. base is the shim's,
// for example http://127.0.0.1:4040. Browsers keep what is behind the # to
// themselves, so that no server and no log gets to see the code.
func Link(base, code string) string { return base + "/pair#" + code }
