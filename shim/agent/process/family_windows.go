package process

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/cockroachdb/errors"
	"golang.org/x/sys/windows"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// platform is what a Family needs on Windows: a job object that holds the
// agent and everything it starts, and ends them all when it is closed.
type platform struct {
	mu  sync.Mutex
	job windows.Handle // 0 once closed
}

func prepareOnce() {}

func widen(*os.File) {}

func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// start starts the agent and puts it into its job. What it would start before
// that, within the first moment, is not in the job.
func (p *platform) start(f *Family) error {
	job, err := newJob()
	if err != nil {
		return err
	}
	p.job = job
	if err := f.cmd.Start(); err != nil {
		p.release(f)
		return err
	}
	agent, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(f.PID()))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, agent)
		windows.CloseHandle(agent)
	}
	if err != nil {
		f.cmd.Process.Kill()
		f.cmd.Wait()
		p.release(f)
		return errors.Wrap(err, "put the agent into a job object")
	}
	return nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, errors.Wrap(err, "create a job object")
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, errors.Wrap(err, "set up a job object")
	}
	return job, nil
}

func (p *platform) watch(*Family) {}

// interrupt ends the job: a console program without a console of its own
// cannot be sent Ctrl-C alone.
func (p *platform) interrupt(*Family) error { return p.terminate() }

func (p *platform) terminate() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job == 0 {
		return nil
	}
	return windows.TerminateJobObject(p.job, 1)
}

// linger ends the job after d: pipes have no deadlines on Windows, and what
// holds them open ends with the job anyway.
func (p *platform) linger(f *Family, d time.Duration) {
	time.AfterFunc(d, func() { p.terminate() })
}

func (p *platform) release(*Family) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job != 0 {
		windows.CloseHandle(p.job)
		p.job = 0
	}
}

func (f *Family) remember() {}

func (f *Family) killMembers() error { return f.platform.terminate() }

// sweep waits for the job to empty until graceEnd and then ends what is in it,
// listeners too.
func (f *Family) sweep(ctx context.Context, graceEnd time.Time) (left, stuck []Proc) {
	for {
		rest := f.platform.members()
		if len(rest) == 0 {
			return nil, nil
		}
		if f.isStopping() || !time.Now().Before(graceEnd) {
			f.platform.terminate()
			f.noteEnded(rest)
		}
		if !pause(ctx, lookEvery) {
			return nil, rest
		}
	}
}

// members lists the processes in the job, at most 1,000.
func (p *platform) members() []Proc {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job == 0 {
		return nil
	}
	// JOBOBJECT_BASIC_PROCESS_ID_LIST with room for its list.
	var list struct {
		assigned, listed uint32
		pids             [1000]uintptr
	}
	windows.QueryInformationJobObject(p.job, windows.JobObjectBasicProcessIdList, uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	var procs []Proc
	for _, pid := range list.pids[:min(int(list.listed), len(list.pids))] {
		procs = append(procs, Proc{PID: int(pid), Name: imageName(uint32(pid))})
	}
	return procs
}

func imageName(pid uint32) string {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return ""
	}
	defer windows.CloseHandle(h)
	var buf [windows.MAX_PATH]uint16
	size := uint32(len(buf))
	if windows.QueryFullProcessImageName(h, 0, &buf[0], &size) != nil {
		return ""
	}
	return filepath.Base(windows.UTF16ToString(buf[:size]))
}

// SweepOrphans has nothing to do on Windows: a job ends with the shim.
func SweepOrphans(stateHash string, died func(runID string) bool) []Proc { return nil }

// EndMarked has nothing to do on Windows: each Family has its job.
func EndMarked(marker string) []Proc { return nil }

// readAvailable is never needed: there are no deadlines to read past.
func readAvailable(*os.File, []byte) (int, error) { return 0, nil }

// exitOf translates how a process ended.
func exitOf(s *os.ProcessState) agent.Exit { return agent.Exit{Code: s.ExitCode()} }

// startError says why the agent did not start.
func startError(o Options, err error) error {
	switch {
	case errors.Is(err, windows.ERROR_DIRECTORY):
		return errors.WithHint(errors.Newf("the working directory %s does not exist", o.Dir), "start slidewrite in an existing folder")
	case errors.Is(err, os.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return errors.WithHint(errors.Mark(errors.Newf("%s does not exist", o.Bin), ErrNotFound), "install it, or name another one with --claude-bin")
	case errors.Is(err, windows.ERROR_BAD_EXE_FORMAT), errors.Is(err, windows.ERROR_EXE_MACHINE_TYPE_MISMATCH):
		return errors.WithHintf(errors.Newf("%s is not a program for this machine", o.Bin), "reinstall %s for this processor", o.Bin)
	}
	return errors.Wrapf(err, "start %s", o.Bin)
}
