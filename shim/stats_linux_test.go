package shim

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
)

// Both ways find the same descendants, of other threads and of children too.
func TestChildrenOfThreads(t *testing.T) {
	if !listsChildren() {
		t.Skip("this kernel lists no children (CONFIG_PROC_CHILDREN)")
	}
	const many = 4
	release, started := make(chan struct{}), make(chan error)
	defer close(release)
	for range many {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() { // which keeps its thread: at most one is the first
			runtime.LockOSThread()
			started <- cmd.Start()
			<-release
		}()
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		defer func() { in.Close(); cmd.Wait() }() //nolint:errcheck // it ends with its input
	}
	all := byParent()
	got, want := pidsOf(childrenOf(os.Getpid())), pidsOf(all[os.Getpid()])
	if !slices.Equal(got, want) || len(got) < many {
		t.Errorf("children %v, want %v, %d at least", got, want, many)
	}
	if use, ok := measureCPU(); !ok || len(use.pids) < many {
		t.Errorf("%d descendants, %v", len(use.pids), ok)
	}
}

func pidsOf(list []procStat) (pids []int) {
	for _, s := range list {
		pids = append(pids, s.pid)
	}
	slices.Sort(pids)
	return pids
}

// Where PSS cannot be read, private memory is at least what the process allocated. The race detector adds to it.
func TestPrivateMemory(t *testing.T) {
	before := privateBytes(os.Getpid())
	block := make([]byte, 64<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	grown := privateBytes(os.Getpid()) - before
	share, err := pssOf(os.Getpid())
	if grown < 60<<20 || grown > 1<<30 || err != nil || share < 60<<20 {
		t.Errorf("64 MiB more: private %d more, share %d, %v", grown, share, err)
	}
	block[0] = 0
}
