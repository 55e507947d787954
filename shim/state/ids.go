package state

import (
	"os"
	"strings"

	"github.com/cockroachdb/errors"
)

// IDs lists the runs of the ledger without reading their records, which costs
// a hundred times as much. Oldest first, as their ids sort.
func (s *Store) IDs() ([]string, error) {
	entries, err := os.ReadDir(s.runsDir())
	if err != nil {
		return nil, errors.Wrap(err, "read the ledger")
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && ValidRunID(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
