package cli

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startBound starts cmd so that it ends when this process does, however that
// comes: the kernel sends it SIGTERM. wait must be called; it is cmd.Wait.
//
// The kernel sends the signal when the thread that started cmd ends
// (PR_SET_PDEATHSIG, prctl(2)), so that thread is kept until cmd has ended.
func startBound(cmd *exec.Cmd) (wait func() error, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	started, ended := make(chan error, 1), make(chan error, 1)
	waiting := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			<-waiting
			ended <- cmd.Wait()
		}
	}()
	return func() error { close(waiting); return <-ended }, <-started
}
