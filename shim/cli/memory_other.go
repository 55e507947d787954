//go:build !linux

package cli

func dropBinary() {}
