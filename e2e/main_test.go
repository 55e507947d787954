package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/slidewrite/slidewrite/shim/shimtest"
)

func TestMain(m *testing.M) { shimtest.Main(tidy{m}) }

// tidy ends what the tests share.
type tidy struct{ m *testing.M }

func (t tidy) Run() int {
	defer func() { stopServing(); removeSlidewrite() }()
	code := t.m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}
