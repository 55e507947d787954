package record

import (
	"runtime"

	"github.com/cockroachdb/errors"
	"golang.org/x/sys/unix"
)

// onNetwork calls f, isolated in a network namespace of its own that has only
// loopback, up. The namespace belongs to one thread: the listener f opens and
// the processes f starts are in it. The thread ends with f and takes the
// namespace with it.
func onNetwork(isolate bool, f func() error) error {
	if !isolate {
		return f()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread must not be used again
		err := loopbackOnly()
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

func loopbackOnly() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return errors.WithHint(errors.Wrap(err, "make a network namespace"), "run as root, or without --isolate")
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return errors.Wrap(err, "socket")
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return errors.Wrap(unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo), "bring lo up")
}
