// Slidewrite changes a running web app by pointing at it: see README.md.
package main

import (
	"os"

	"github.com/slidewrite/slidewrite/shim/cli"
)

func main() { os.Exit(cli.Main()) }
