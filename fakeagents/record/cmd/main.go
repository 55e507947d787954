// Command record makes fixtures outside of slidewrite itself.
//
//	record run <fixtures folder> <agent> <CLI> [regexp]
//	record convert <fixtures folder> <agent> <version> <capture folder>…
package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents/record"
)

const usage = `usage: record run <fixtures folder> <agent> <CLI> [regexp]
       record convert <fixtures folder> <agent> <version> <capture folder>...`

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var err error
	switch {
	case len(args) >= 4 && len(args) <= 5 && args[0] == "run":
		err = runScenarios(args[1:])
	case len(args) >= 5 && args[0] == "convert":
		err = convert(args[1], args[2], args[3], args[4:])
	default:
		fmt.Fprintln(os.Stderr, usage)
		return 2
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record: error:", err)
		return 1
	}
	return 0
}

func runScenarios(args []string) error {
	o := record.Options{Out: args[0], Agent: args[1], Bin: args[2], Log: os.Stdout, Now: time.Now(), Isolate: os.Geteuid() == 0}
	if len(args) == 4 {
		re, err := regexp.Compile(args[3])
		if err != nil {
			return err
		}
		o.Run = re
	}
	_, err := record.Record(context.Background(), o)
	return err
}

// convert goes on after a capture that cannot be converted.
func convert(out, agent, version string, dirs []string) error {
	var failed error
	for _, dir := range dirs {
		f, err := record.Convert(dir, agent, version)
		if err == nil {
			err = record.Write(out, f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "record:", err)
			failed = err
		}
	}
	return failed
}
