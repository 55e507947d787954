//go:build unix && !linux

package history

import "syscall"

func changed(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }
