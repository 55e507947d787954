// Package record makes fixtures: it runs a real CLI against the scripted
// model on loopback, in a throw-away home and repository, with the shim's own
// command line and conversation, and writes what happened as
// fakeagents/fixtures/<agent>/real/<version>/<case>.txtar (Record). It also
// converts older captures into captured/ (Convert).
//
// Everything that is written goes through Scrub first and is refused when it
// still looks like a secret, an address or a path of this machine (Leaks).
//
// "slidewrite record" is the one command that records; cmd only converts.
package record
