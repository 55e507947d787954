// Command record makes fixtures outside of slidewrite itself.
//
//	record convert <fixtures folder> <agent> <version> <capture folder>…
package main

import (
	"fmt"
	"os"

	"github.com/slidewrite/slidewrite/fakeagents/record"
)

func main() {
	if len(os.Args) < 6 || os.Args[1] != "convert" {
		fmt.Fprintln(os.Stderr, "usage: record convert <fixtures folder> <agent> <version> <capture folder>…")
		os.Exit(2)
	}
	failed := false
	for _, dir := range os.Args[5:] {
		f, err := record.Convert(dir, os.Args[3], os.Args[4])
		if err == nil {
			err = record.Write(os.Args[2], f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "record: error:", err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}
