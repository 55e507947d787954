package prompt

import (
	"crypto/rand"
	"encoding/hex"
)

// NewNonce makes the nonce of one prompt's fences: 96 random bits in
// hexadecimal, that no page can know.
func NewNonce() string {
	b := make([]byte, 12)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
