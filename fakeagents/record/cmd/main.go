// Command cmd converts older captures of a CLI into fixtures of captured/:
//
//	go run ./fakeagents/record/cmd <fixtures folder> <agent> <version> <capture folder>…
//
// Recording is done by slidewrite record.
package main

import (
	"fmt"
	"os"

	"github.com/slidewrite/slidewrite/fakeagents/record"
)

const usage = "usage: go run ./fakeagents/record/cmd <fixtures folder> <agent> <version> <capture folder>..."

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) < 4 {
		fmt.Fprintln(os.Stderr, usage)
		return 2
	}
	if err := convert(args[0], args[1], args[2], args[3:]); err != nil {
		return 1
	}
	return 0
}

// convert goes on after a capture that cannot be converted, and returns the
// last error; each is told.
func convert(out, agent, version string, dirs []string) error {
	var failed error
	for _, dir := range dirs {
		f, err := record.Convert(dir, agent, version)
		if err == nil {
			err = record.Write(out, f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "convert: error:", err)
			failed = err
		}
	}
	return failed
}
