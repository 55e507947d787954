package e2e

import (
	"testing"

	"github.com/slidewrite/slidewrite/shim/shimtest"
)

func TestMain(m *testing.M) { shimtest.Main(m) }
