package browser

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// endFirstScore is added to the score of this process, by which the kernel chooses what it ends when the machine has no memory left
// (proc_pid_oom_score_adj(5)). It is small beside the 300 of renderers: in a group with a limit the kernel must choose a page, not the main
// process. With 200 it chose that twice in 20 times, in a group of 400 MiB.
const endFirstScore = 50

// endFirst has the kernel end a browser's main process before the server when the machine has no memory left. Chrome sets the score of
// each of its processes while it starts: that of renderers to 300 and more, that of the main process to 0. So this comes after its start. A
// process may always raise the score of one of its own.
func endFirst(pid int) {
	own, _ := os.ReadFile("/proc/self/oom_score_adj")
	score, _ := strconv.Atoi(string(bytes.TrimSpace(own))) // 0 where it cannot be read
	score = min(1000, score+endFirstScore)
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", strconv.AppendInt(nil, int64(score), 10), 0)
}

// dumpNothing keeps a process, and what it starts, from writing dumps of its memory, which has cookies and passwords. A process may always
// lower the limit of one of its own.
func dumpNothing(pid int) { _ = unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil) }
