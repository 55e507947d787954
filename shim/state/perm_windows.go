package state

import (
	"os"

	"golang.org/x/sys/windows"
)

// On Windows the folders are in the user's profile, whose access list keeps
// others out; there are no mode bits to check.
func checkOwner(string, os.FileInfo) error { return nil }
func checkWay(string) error                { return nil }

// alive tells whether a process of this number exists. The number may have
// been used again since.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return err == windows.ERROR_ACCESS_DENIED
	}
	defer windows.CloseHandle(h)
	const stillActive = 259
	var code uint32
	return windows.GetExitCodeProcess(h, &code) == nil && code == stillActive
}
