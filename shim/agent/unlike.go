package agent

import (
	"bytes"
	"strings"

	"github.com/cockroachdb/errors"
)

// ErrUnlike marks a program that answered, but not as the agent would.
var ErrUnlike = errors.New("another program")

// Unlike says that bin, taken for the agent called name, printed something
// else and then ended well.
func Unlike(bin, name string, stdout []byte) error {
	first := ""
	for line := range bytes.Lines(stdout) {
		if first = OneLine(string(line)); first != "" {
			break
		}
	}
	said := "it printed nothing"
	if first = strings.TrimSpace(first); first != "" {
		said = "it printed “" + first + "”"
	}
	return errors.Mark(errors.Newf("%s does not answer like %s: %s", bin, name, said), ErrUnlike)
}
