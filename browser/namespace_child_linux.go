package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// The child's side of a namespace is a single thread that takes these steps and then becomes the browser:
//
//   - bring up lo, add a virtual interface, open the relay's listener and send it to the shim
//   - wait until there is a run, create a mount namespace, wait for the exec request
//   - apply the file view, drop all capabilities, exec
//
// When the shim dies, the connection closes and the child exits.

const (
	stepUp       = "bring up the namespace's loopback interface"
	stepListen   = "open the relay's socket in the namespace"
	stepDrop     = "give up the capabilities"
	stepMounts   = "make a mount namespace"
	stepFiles    = "lay out the files that the run sees"
	stepFolder   = "write the profile's folder"
	stepExec     = "start the browser"
	stepPrepare  = "prepare the browser's descriptors"
	lineFD       = 3  // set by the shim
	aboveBrowser = 10 // descriptors from here on are not in the browser's way
)

// networkOfMachine is in the environment of a child that has no network of its own.
const networkOfMachine = "NETWORK=machine"

// relayPort is the port of the relay's listener on 127.0.0.1 inside. It is the same for every run, since a namespace has no other user.
const relayPort = 1080

// EnterNamespace is the whole life of the child. It returns only on failure.
func EnterNamespace() error {
	runtime.LockOSThread() // capabilities belong to a thread
	line, err := unix.FcntlInt(lineFD, unix.F_DUPFD_CLOEXEC, aboveBrowser)
	if err != nil {
		return fmt.Errorf("there is no line: this command is started by a run, not by hand: %w", err)
	}
	unix.Close(lineFD) //nolint:errcheck // its copy stays open
	step, err := setUpNetwork(line)
	if err == nil {
		step, err = setUpMounts(line)
	}
	if err == nil {
		step, err = becomeBrowser(line)
	}
	sendReport(line, childReport{Step: step, Error: err.Error(), Errno: errnoOf(err)}, nil)
	return fmt.Errorf("%s: %w", step, err)
}

func errnoOf(err error) (e syscall.Errno) {
	errors.As(err, &e)
	return e
}

func sendReport(line int, m childReport, fds []int) {
	text, _ := json.Marshal(m) // strings and numbers always marshal
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_ = unix.Sendmsg(line, text, rights, nil, 0) // nobody could be told of an error
}

// setUpNetwork sets up the network and sends the listener to the shim.
func setUpNetwork(line int) (step string, err error) {
	ready := childReport{Step: stepListen}
	var sockets []int
	if !slices.Contains(os.Environ(), networkOfMachine) {
		if err := loopbackUp(); err != nil {
			return stepUp, err
		}
		ready.Bare = addVeth() != nil
		l, err := listen()
		if err != nil {
			return stepListen, err
		}
		defer unix.Close(l) //nolint:errcheck // the shim has a copy
		sockets = []int{l}
	}
	sendReport(line, ready, sockets)
	return "", nil
}

// setUpMounts waits until the shim has a run. Then it creates the mount namespace, and says why if it cannot.
func setUpMounts(line int) (step string, err error) {
	n, err := unix.Read(line, make([]byte, 1))
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Read(line, make([]byte, 1))
	}
	switch {
	case err != nil:
		return stepPrepare, err
	case n == 0:
		os.Exit(0) // no run came
	}
	made := childReport{Step: stepMounts}
	if err := ownMounts(); err != nil {
		made.Error, made.Errno = err.Error(), errnoOf(err)
	}
	sendReport(line, made, nil)
	return "", nil
}

// loopbackUp does what `ip link set lo up` does (netdevice(7), SIOCSIFFLAGS).
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}

// listen opens the relay's socket with the longest queue that the system allows.
func listen() (int, error) {
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(l, &unix.SockaddrInet4{Port: relayPort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return -1, err
	}
	return l, unix.Listen(l, unix.SOMAXCONN)
}

// dropCapabilities drops all capabilities of this thread, for a later exec too (capabilities(7)). Chrome's sandbox creates a user namespace
// of its own and needs none here.
func dropCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		// EINVAL: the kernel does not know that capability
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// becomeBrowser waits for the exec request and carries it out. It returns only on failure.
func becomeBrowser(line int) (step string, err error) {
	what, fds, err := readExecRequest(line)
	if err != nil {
		return stepPrepare, err
	}
	if what.View != nil {
		if err := what.View.apply(); err != nil {
			return stepFiles, err
		}
	}
	if err := dropCapabilities(); err != nil {
		return stepDrop, err
	}
	if err := unix.Access(what.Folder, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
		return stepFolder, err
	}
	if err := unix.Chdir(what.Dir); err != nil {
		return stepFolder, err
	}
	for fd, from := range map[int]int{1: fds[2], 2: fds[2], 3: fds[0], 4: fds[1]} {
		if err := unix.Dup3(from, fd, 0); err != nil {
			return stepPrepare, err
		}
	}
	return stepExec, syscall.Exec(what.Path, what.Args, what.Env) // Go's own exec, which restores the limit of open files
}

// maxBecome is the largest exec request: the browser's command line and environment.
const maxBecome = 192 << 10

// readExecRequest reads the message of the shim. It moves the descriptors out of the way of the browser's.
func readExecRequest(line int) (what execRequest, fds []int, err error) {
	text, rights := make([]byte, maxBecome), make([]byte, unix.CmsgSpace(4*4))
	n, r, flags, _, err := unix.Recvmsg(line, text, rights, unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, r, flags, _, err = unix.Recvmsg(line, text, rights, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return what, nil, err
	}
	if n == 0 {
		os.Exit(0) // the run ended before it began
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		return what, nil, unix.EMSGSIZE
	}
	if err := json.Unmarshal(text[:n], &what); err != nil {
		return what, nil, err
	}
	// As files they would be closed once the collector finds them unused, by their numbers, which are the browser's by then.
	came, err := receivedDescriptors(rights[:r])
	if err != nil || len(came) != 3 {
		return what, nil, fmt.Errorf("%d descriptors came, want 3: %w", len(came), errors.Join(err, unix.EBADMSG))
	}
	for _, low := range came {
		fd, err := unix.FcntlInt(uintptr(low), unix.F_DUPFD_CLOEXEC, aboveBrowser)
		if err != nil {
			return what, nil, err
		}
		fds = append(fds, fd) // low stays open until the exec, so that what the runtime opens meanwhile is not in the browser's way
	}
	return what, fds, nil
}
