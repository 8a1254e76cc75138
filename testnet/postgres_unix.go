//go:build unix

package testnet

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// serverUser is the account of PostgreSQL's processes. PostgreSQL refuses to run as root.
type serverUser struct {
	credential *syscall.Credential // nil: the account that runs the tests
}

// userOfServers returns nobody for root, and otherwise the own account.
func userOfServers() (serverUser, error) {
	if os.Geteuid() != 0 {
		return serverUser{}, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return serverUser{}, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	id, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return serverUser{}, err
	}
	group, err := strconv.ParseUint(nobody.Gid, 10, 32)
	return serverUser{&syscall.Credential{Uid: uint32(id), Gid: uint32(group)}}, err
}

// own gives a file or a folder to the account.
func (u serverUser) own(path string) error {
	if u.credential == nil {
		return nil
	}
	return os.Chown(path, int(u.credential.Uid), int(u.credential.Gid))
}

// prepare sets the account of a command and gives it its own process group: an interrupt at the terminal reaches the tests alone.
func (u serverUser) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: u.credential}
	endWithThread(cmd.SysProcAttr)
}

// watcher ends the servers of a folder and removes it, when its input has ended. That is when the test process has, however that ended.
// The number in a killed server's file may be that of another process by then, so that the watcher looks at the command line.
const watcher = `cat >/dev/null
for file in "$1"/*/data/postmaster.pid; do
  read -r pid <"$file" || continue
  case $(tr '\000' ' ' <"/proc/$pid/cmdline" || ps -o command= -p "$pid") in *"$1"/*) kill -QUIT "$pid" ;; esac
done
tries=100
while ls "$1"/*/data/postmaster.pid && [ $tries -gt 0 ]; do
  tries=$((tries - 1))
  sleep 0.1
done
rm -rf "$1"`

// watchFolder starts the watcher. Its input ends when the result is closed.
func watchFolder(dir string) (io.Closer, error) {
	cmd := exec.Command("/bin/sh", "-c", watcher, "sh", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return input, cmd.Start()
}
