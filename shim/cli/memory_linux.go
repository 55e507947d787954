package cli

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dropBinary takes the pages of the binary out of this process's memory; they
// stay in the page cache, and those that are needed come back without a read.
// Linux maps 16 pages for each one that is touched, so a start has nearly all
// of the binary mapped (11 MiB), of which an idle shim uses a third. A mapping
// with pages of our own (relocations of a PIE, breakpoints of a debugger) is
// left alone: those would be lost.
func dropBinary() {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	var from, to uintptr // of the mapping being read, when it is one of a file that is not written to
	for sc := bufio.NewScanner(f); sc.Scan(); {
		switch fields := strings.Fields(sc.Text()); {
		case len(fields) >= 5 && !strings.HasSuffix(fields[0], ":"): // 00400000-00a26000 r-xp 00000000 fe:00 123 /path
			from, to = 0, 0
			if len(fields) >= 6 && strings.HasPrefix(fields[5], "/") && !strings.Contains(fields[1], "w") {
				from, to = addresses(fields[0])
			}
		case from < to && len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0":
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}

// addresses reads "00400000-00a26000"; 0, 0 when it is something else.
func addresses(s string) (from, to uintptr) {
	a, b, _ := strings.Cut(s, "-")
	begin, err1 := strconv.ParseUint(a, 16, strconv.IntSize)
	end, err2 := strconv.ParseUint(b, 16, strconv.IntSize)
	if err1 != nil || err2 != nil {
		return 0, 0
	}
	return uintptr(begin), uintptr(end)
}
