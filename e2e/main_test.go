package e2e

import (
	"testing"

	"github.com/slidewrite/slidewrite/shim/shimtest"
)

func TestMain(m *testing.M) { shimtest.Main(tidy{m}) }

// tidy ends what the tests share.
type tidy struct{ m *testing.M }

func (t tidy) Run() int {
	defer func() { stopServing() }()
	return t.m.Run()
}
