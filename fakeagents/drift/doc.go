// Package drift compares what two versions of an agent's CLI print and leave on
// disk, by shape: which lines there are, which members they have and of what
// kind, in which order, how often. What the lines say does not count.
//
// Flow: Open reads a side (a version of the fixtures, a folder of fixtures, or
// one of raw captures) → Compare takes the shape of the scenarios that both
// sides have (walk.go, shape.go), lists the differences (diff.go, order.go,
// numbers.go) and classes each by what our own code makes of it (reads.go) →
// Report.Text or its JSON. Versions is the other view: what a client of ours is
// told in one scenario, version by version.
//
// Nothing here lists what a mapper reads. A member is taken out of the recorded
// lines, and the real mapper, conversation and history reader are run over them
// with and without it: what changes their output is relied on.
package drift
