package browser

import (
	"os"
	"os/exec"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// maxTempDir is the longest TempDir in bytes; it leaves room below MAX_PATH.
const maxTempDir = 180

// group is the job object of a browser: the main process and all that it starts. It does not end with this process (no KILL_ON_JOB_CLOSE).
// The pipe does that, and lets Chrome flush its cookies.
type group struct {
	leader *os.Process

	mu  sync.Mutex // kill is called concurrently
	job windows.Handle
}

func prepareGroup(*exec.Cmd) {}

// newGroup puts the process into a new job. If that fails only the main process can be killed; the others end with it.
func newGroup(leader *os.Process) *group {
	g := &group{leader: leader}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(leader.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, process)
		_ = windows.CloseHandle(process)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return g
	}
	g.job = job
	return g
}

// interrupt does nothing: a console event would reach this process too.
func (g *group) interrupt() {}

func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		_ = g.leader.Kill()
		return
	}
	_ = windows.TerminateJobObject(g.job, 1)
}

func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}

// await waits until the job is empty, for at most d, and reports whether it is.
func (g *group) await(d time.Duration) bool {
	for deadline := time.Now().Add(d); g.alive(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// alive reports whether a process of the job still runs (JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.ActiveProcesses).
func (g *group) alive() bool {
	if g.job == 0 {
		return false
	}
	var info struct {
		TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64
		TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses     uint32
	}
	err := windows.QueryInformationJobObject(
		g.job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.ActiveProcesses > 0
}
