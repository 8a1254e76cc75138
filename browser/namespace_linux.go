package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The shim's side of a namespace starts this program again as a child in new user and network namespaces (user_namespaces(7),
// network_namespaces(7)). The child sends back the relay's listener, creates a mount namespace, and later becomes the browser. Its side is
// in namespace_child_linux.go.

// ChildArgument is the argument of the child. A program that is called with it must call EnterNamespace and nothing else.
const ChildArgument = "burrow"

// innerUser is root's user id inside. Chrome refuses to run its sandbox as 0; any other number would do.
const innerUser = 1000

// childTimeout bounds each step of the child, which takes some milliseconds.
const childTimeout = 20 * time.Second

// namespace is an isolation whose network has only a loopback interface and the relay's listener.
type namespace struct {
	child *exec.Cmd
	line  *net.UnixConn // the connection to the child; the child's end closes when it becomes the browser
	l     net.Listener

	spec         *Spec
	once         sync.Once
	offline      bool            // pages believe that they are offline
	filesRefused *IsolationError // why the kernel does not hide files; nil: it does
	replaced     bool            // the child has become the browser, which somebody else waits for
}

// childReport is a message of the child. The first one comes with the listener or an error, the second one when there is a mount
// namespace or none. A third one comes only if the browser could not be started.
type childReport struct {
	Step  string        `json:"step"`
	Errno syscall.Errno `json:"errno,omitempty"`
	Error string        `json:"error,omitempty"`
	Bare  bool          `json:"bare,omitempty"` // the namespace has only a loopback interface
}

// execRequest tells the child what to become. Three descriptors come with it: the two of DevTools, and that of the output.
type execRequest struct {
	Path   string    `json:"path"`
	Args   []string  `json:"args"`
	Env    []string  `json:"env"`
	Dir    string    `json:"dir"`
	Folder string    `json:"folder"` // the profile's folder, which the browser must be able to write
	View   *fileView `json:"view"`   // the files that the browser sees; nil: all
}

// SpareNetwork is a network namespace that no run uses yet. Nothing in it can send, since nobody serves its listener.
type SpareNetwork struct{ n *namespace }

// OpenSpareNetwork creates a network namespace before its run is known. It fails with an *IsolationError.
func OpenSpareNetwork() (*SpareNetwork, error) {
	n, err := openChild(true)
	if err == nil {
		err = n.awaitNetwork(true)
	}
	if err != nil {
		return nil, err
	}
	return &SpareNetwork{n}, nil
}

// Close ends a namespace that no run has taken.
func (s *SpareNetwork) Close() error { return s.n.close() }

// openNamespace makes the namespaces of a run: with the network of s.Spare if it is there, else with a new one. Without network the run
// stays in the machine's own network, and only files are hidden, for runs that cannot use another one. It fails with an *IsolationError.
func openNamespace(s *Spec, network bool) (isolator, error) {
	n, err := takeSpare(s, network)
	if n == nil {
		n, err = openWhole(network)
	}
	if err != nil {
		return nil, err
	}
	n.spec = s
	if n.filesRefused != nil && (!network || s.Files == FilesInNamespace) {
		n.close() //nolint:errcheck // the refusal says more
		return nil, n.filesRefused
	}
	return n, nil
}

// takeSpare makes the mount namespace of a spare network. It returns nil if there is no network or its process has died.
func takeSpare(s *Spec, network bool) (*namespace, error) {
	if s.Spare == nil || !network {
		return nil, nil
	}
	n := s.Spare.n
	if n.askForMounts() != nil || n.awaitMounts() != nil {
		return nil, nil
	}
	return n, nil
}

// openWhole starts a child for a run that is known.
func openWhole(network bool) (*namespace, error) {
	n, err := openChild(network)
	if err != nil {
		return nil, err
	}
	if err := n.awaitNetwork(network); err != nil { // before it is asked: what it had not read would reset the line, and hide its report
		return nil, err
	}
	if err := n.askForMounts(); err != nil {
		return nil, err
	}
	return n, n.awaitMounts()
}

// openChild starts the child.
func openChild(network bool) (*namespace, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, &IsolationError{Err: fmt.Errorf("make the line to the namespace: %w", err)}
	}
	cmd := exec.Command("/proc/self/exe", ChildArgument)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env, cmd.SysProcAttr = []string{}, namespaces()
	if !network {
		cmd.Env = []string{networkOfMachine}
		cmd.SysProcAttr.Cloneflags &^= syscall.CLONE_NEWNET
	}
	prepareGroup(cmd)
	err = cmd.Start()
	theirs.Close() // the child must have the only copy, so that it closes with the child
	if err != nil {
		ours.Close()
		return nil, isolationRefusal("make user and network namespaces", err)
	}
	return &namespace{child: cmd, line: ours}, nil
}

// askForMounts lets the child make a mount namespace. It has the mounts that the machine has now, which may be newer than the network.
// After an error nothing is left.
func (n *namespace) askForMounts() error {
	if _, err := n.line.Write([]byte{0}); err != nil {
		n.close() //nolint:errcheck // the earlier error says more
		return &IsolationError{Err: fmt.Errorf("tell the namespace's process that there is a run: %w", err)}
	}
	return nil
}

// awaitMounts reads whether there is a mount namespace. After an error nothing is left.
func (n *namespace) awaitMounts() error {
	m, files, err := n.readReport()
	closeAll(files...)
	if err != nil {
		n.close() //nolint:errcheck // the earlier error says more
		return &IsolationError{Err: fmt.Errorf("the namespace's process ended before it was ready: %w", err)}
	}
	if m.Errno != 0 || m.Error != "" {
		n.filesRefused = isolationRefusal(m.Step, m.err())
		n.filesRefused.Refused, n.filesRefused.Advice = true, mountAdvice()
	}
	return nil
}

// namespaces requests user and network namespaces that contain only this process' user and group. Root becomes an ordinary user inside.
// Three capabilities outlive the exec: to bring up lo, to mount, and to drop all capabilities.
func namespaces() *syscall.SysProcAttr {
	inner := func(id int) int {
		if id == 0 {
			return innerUser
		}
		return id
	}
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: inner(os.Geteuid()), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: inner(os.Getegid()), HostID: os.Getegid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP},
	}
}

// socketPair creates the connection to the child, which carries whole messages with descriptors (unix(7), SOCK_SEQPACKET).
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "line"), os.NewFile(uintptr(fds[1]), "line")
	defer ours.Close() // FileConn has a copy of its own
	c, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), theirs, nil
}

// awaitNetwork reads the child's first message, and takes the listener if the child has a network of its own. After an error nothing is
// left.
func (n *namespace) awaitNetwork(listens bool) error {
	err := n.readNetwork(listens)
	if err != nil {
		n.close() //nolint:errcheck // the earlier error says more
	}
	return err
}

func (n *namespace) readNetwork(listens bool) error {
	m, files, err := n.readReport()
	defer closeAll(files...)
	switch {
	case err != nil:
		return &IsolationError{Err: fmt.Errorf("the namespace's process ended before it was ready: %w", err)}
	case m.Errno != 0 || m.Error != "":
		return isolationRefusal(m.Step, m.err())
	case listens != (len(files) == 1):
		return &IsolationError{Err: fmt.Errorf("the namespace's process gave %d sockets", len(files))}
	}
	if listens {
		if n.l, err = net.FileListener(files[0]); err != nil {
			return &IsolationError{Err: fmt.Errorf("take the relay's listener: %w", err)}
		}
	}
	n.offline = m.Bare
	return nil
}

func (m *childReport) err() error {
	if m.Errno != 0 {
		return m.Errno
	}
	return errors.New(m.Error)
}

// readReport reads one message of the child.
func (n *namespace) readReport() (m childReport, files []*os.File, err error) {
	if err := n.line.SetReadDeadline(time.Now().Add(childTimeout)); err != nil {
		return m, nil, err
	}
	text, rights := make([]byte, 4<<10), make([]byte, unix.CmsgSpace(4*4))
	k, r, _, _, err := n.line.ReadMsgUnix(text, rights)
	if err != nil {
		return m, nil, err
	}
	if files, err = received(rights[:r]); err == nil {
		err = json.Unmarshal(text[:k], &m)
	}
	return m, files, err
}

// received returns the descriptors of a message as files.
func received(control []byte) (files []*os.File, err error) {
	fds, err := receivedDescriptors(control)
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "received"))
	}
	return files, err
}

func receivedDescriptors(control []byte) (fds []int, err error) {
	messages, err := unix.ParseSocketControlMessage(control)
	for _, m := range messages {
		some, failed := unix.ParseUnixRights(&m)
		err = errors.Join(err, failed)
		for _, fd := range some {
			unix.CloseOnExec(fd)
		}
		fds = append(fds, some...)
	}
	return fds, err
}

// isolationRefusal tells a permanent refusal from a temporary error.
func isolationRefusal(step string, err error) *IsolationError {
	e := &IsolationError{Err: fmt.Errorf("%s: %w", step, err)}
	for _, errno := range []syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EINVAL, unix.ENOSYS, unix.EUSERS} {
		if errors.Is(err, errno) {
			e.Refused, e.Advice = true, namespaceAdvice()
		}
	}
	return e
}

// start makes the child become the browser. It returns when that has happened or failed.
func (n *namespace) start(cmd *exec.Cmd) (*exec.Cmd, error) {
	out, ok := cmd.Stdout.(*os.File)
	if !ok || len(cmd.ExtraFiles) != 2 {
		return nil, errors.New("the command is not one of a browser")
	}
	what := execRequest{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Folder: n.spec.UserDataDir}
	if n.filesRefused == nil {
		v, err := newFileView(n.spec)
		if err != nil {
			return nil, &IsolationError{Err: fmt.Errorf("%s: %w", stepFiles, err)}
		}
		what.View = &v
	}
	text, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	rights := unix.UnixRights(int(cmd.ExtraFiles[0].Fd()), int(cmd.ExtraFiles[1].Fd()), int(out.Fd()))
	dumpNothing(n.child.Process.Pid)
	if n.spec.Group != nil {
		if err := n.spec.Group.Add(n.child.Process.Pid); err != nil {
			return nil, err
		}
	}
	if err := n.line.SetWriteDeadline(time.Now().Add(childTimeout)); err != nil {
		return nil, err
	}
	if _, _, err := n.line.WriteMsgUnix(text, rights, nil); err != nil {
		return nil, &IsolationError{Err: fmt.Errorf("tell the namespace's process what to become: %w", err)}
	}
	m, files, err := n.readReport()
	closeAll(files...)
	switch {
	case err == nil:
		return nil, startFailure(cmd.Path, &m)
	case errors.Is(err, io.EOF): // the child's end closes with the exec, or with its death, which its supervisor sees
		n.replaced = true
		return n.child, nil
	}
	return nil, &IsolationError{Err: fmt.Errorf("the namespace's process did not become the browser: %w", err)}
}

// startFailure turns a report of the child into an error of the right kind.
func startFailure(path string, m *childReport) error {
	switch m.Step {
	case stepExec:
		return &StartError{Kind: StartNotFound, Err: fmt.Errorf("%s cannot be started inside the namespace: %w", path, m.err())}
	case stepFolder:
		return &StartError{Kind: StartUnwritable,
			Err: fmt.Errorf("the browser cannot write the profile's folder, which must belong to warren's user: %w", m.err())}
	case stepFiles:
		return &IsolationError{Err: fmt.Errorf("%s: %s", m.Step, m.Error)}
	}
	return fmt.Errorf("%s: %w", m.Step, m.err())
}

func (n *namespace) listener() net.Listener    { return n.l }
func (n *namespace) admit(net.Conn, int) error { return nil } // only the browser can reach the socket

func (n *namespace) isolation() Isolation {
	files := FilesInNamespace
	if n.filesRefused != nil {
		files = FilesByGuard
	}
	return Isolation{Network: InNamespace, Files: files, Sandbox: true}
}

func (n *namespace) warnings() (all []Warning) {
	if n.offline {
		all = append(all, Warning{"offline_shown", "The kernel gives the run's namespace no virtual interface (its module veth is " +
			"missing: sudo modprobe veth): pages believe that they are offline, and load all the same."})
	}
	if n.filesRefused != nil {
		all = append(all, Warning{"isolation_files", "This run sees the machine's files: commands of DevTools clients that lead to the " +
			"data folder are refused, but the kernel does not hide it. Why: " +
			n.filesRefused.Error() + ". What helps: " + n.filesRefused.Advice + ". --require-isolation refuses such runs."})
	}
	return all
}

// close ends a child that has not become the browser, and closes the listener.
func (n *namespace) close() (err error) {
	n.once.Do(func() {
		if n.l != nil {
			err = n.l.Close()
		}
		err = errors.Join(err, n.line.Close())
		if !n.replaced {
			_ = n.child.Process.Kill() // it would exit by itself, unless it hangs
			_ = n.child.Wait()         // the error says that it was killed
		}
	})
	return err
}
