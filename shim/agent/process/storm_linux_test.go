package process

import (
	"os"
	"path/filepath"
	"testing"
)

// Each process starts the next one in a new session and is gone. The chain
// ends by itself after a while: a failure must not leave it running for ever.
func TestAChainOfForksIsCaught(t *testing.T) {
	o := sh(t, `"$DIR/next"; until [ -s up ]; do sleep 0.01; done`)
	next := filepath.Join(o.Dir, "next")
	if err := os.WriteFile(next, []byte("#!/bin/sh\necho $$ >>\"$DIR/up\"\nsleep 0.01\n[ $(wc -l <\"$DIR/up\") -gt 1500 ] || setsid \"$0\" &\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := start(t, o)
	f.Wait()
	swept := f.Sweep(background(), 0)
	if len(swept.Stuck) > 0 || len(swept.Ended) == 0 {
		t.Errorf("swept = %+v, want the chain ended", swept)
	}
	if len(f.members(processes())) > 0 {
		t.Error("the chain goes on")
	}
}
