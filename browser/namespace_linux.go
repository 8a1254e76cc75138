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

// This file is the shim's side of a namespace: it starts a child of this very program in new user and network namespaces
// (user_namespaces(7), network_namespaces(7)), which makes itself a mount namespace too, takes the relay's listener from it, and later tells it what to become. The child's side is
// in namespace_child_linux.go.

// ChildArgument is what a program of ours is called with to be that child; it then calls EnterNamespace and nothing else.
const ChildArgument = "burrow"

// innerUser is what root is inside: Chrome refuses to run its sandbox as 0. Any other number would do.
const innerUser = 1000

// childTimeout is how long the child may take for each of its steps, which take it some milliseconds.
const childTimeout = 20 * time.Second

// namespace is a burrow whose network is a loopback interface with nothing on it but the relay's listener.
type namespace struct {
	child *exec.Cmd
	line  *net.UnixConn // to the child; it closes the child's end when it becomes the browser
	l     net.Listener

	spec         *Spec
	once         sync.Once
	offline      bool            // pages believe to be offline
	filesRefused *IsolationError // why the machine's files are not hidden by the kernel; nil: they are
	replaced     bool            // the child is the browser now, and who started that waits for it
}

// childReport is one message of the child's. The first comes with the listener, or says what failed; a second one comes only
// when the browser could not be started.
type childReport struct {
	Step  string        `json:"step"`
	Errno syscall.Errno `json:"errno,omitempty"`
	Error string        `json:"error,omitempty"`
	Bare  bool          `json:"bare,omitempty"`  // there is nothing but loopback
	Files *childReport  `json:"files,omitempty"` // why there is no mount namespace; nil: there is
}

// execRequest is what the child is told. With it come three descriptors: DevTools' two, and the output's.
type execRequest struct {
	Path   string    `json:"path"`
	Args   []string  `json:"args"`
	Env    []string  `json:"env"`
	Dir    string    `json:"dir"`
	Folder string    `json:"folder"` // the profile's, which the browser must be able to write
	View   *fileView `json:"view"`   // which files it sees; nil: all
}

// openNamespace starts the child and takes the listener from it. Its errors are *IsolationErrors.
func openNamespace(s *Spec) (isolator, error) {
	n, err := openChild(s, namespaces())
	if err != nil {
		return nil, err
	}
	if n.filesRefused != nil && s.Files == FilesInNamespace {
		n.close() //nolint:errcheck // what was refused says more
		return nil, n.filesRefused
	}
	return n, nil
}

// openMounts starts the child in the machine's own network, for runs that cannot have another: files are hidden from them all the same.
func openMounts(s *Spec) (fileIsolator, error) {
	attr := namespaces()
	attr.Cloneflags &^= syscall.CLONE_NEWNET
	n, err := openChild(s, attr)
	if err == nil && n.filesRefused != nil {
		n.close() //nolint:errcheck // what was refused says more
		err = n.filesRefused
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// openChild starts the child and hears that it is ready.
func openChild(s *Spec, attr *syscall.SysProcAttr) (*namespace, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, &IsolationError{Err: fmt.Errorf("make the line to the namespace: %w", err)}
	}
	cmd := exec.Command("/proc/self/exe", ChildArgument)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env = []string{}
	if attr.Cloneflags&syscall.CLONE_NEWNET == 0 {
		cmd.Env = []string{networkOfMachine}
	}
	cmd.SysProcAttr = attr
	prepareGroup(cmd)
	err = cmd.Start()
	theirs.Close() // its end must be the child's alone: then it closes with the child
	if err != nil {
		ours.Close()
		return nil, isolationRefusal("make user and network namespaces", err)
	}
	n := &namespace{child: cmd, line: ours, spec: s}
	if err = n.awaitChild(attr.Cloneflags&syscall.CLONE_NEWNET != 0); err != nil {
		n.close() //nolint:errcheck // what failed before says more
		return nil, err
	}
	return n, nil
}

// namespaces asks for both, with only our own user and group in them. Root becomes an ordinary user there. Three capabilities
// outlive the exec: to bring lo up, to mount, and to take all of them away.
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

// socketPair makes the line to the child: whole messages, with descriptors (unix(7), SOCK_SEQPACKET).
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "line"), os.NewFile(uintptr(fds[1]), "line")
	defer ours.Close() // FileConn makes its own
	c, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), theirs, nil
}

// awaitChild reads the child's first message, and takes the listener from it where it has a network of its own.
func (n *namespace) awaitChild(listens bool) error {
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
	if m.Files != nil {
		n.filesRefused = isolationRefusal(m.Files.Step, m.Files.err())
		n.filesRefused.Refused, n.filesRefused.Advice = true, mountAdvice()
	}
	return nil
}

func (m *childReport) err() error {
	if m.Errno != 0 {
		return m.Errno
	}
	return errors.New(m.Error)
}

// readReport reads one message of the child's.
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

// received makes files of the descriptors that came with a message.
func received(control []byte) (files []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(control)
	for _, m := range messages {
		fds, failed := unix.ParseUnixRights(&m)
		err = errors.Join(err, failed)
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, err
}

// isolationRefusal tells a machine that forbids namespaces from one that has no room for another at the moment.
func isolationRefusal(step string, err error) *IsolationError {
	e := &IsolationError{Err: fmt.Errorf("%s: %w", step, err)}
	for _, errno := range []syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EINVAL, unix.ENOSYS, unix.EUSERS} {
		if errors.Is(err, errno) {
			e.Refused, e.Advice = true, namespaceAdvice()
		}
	}
	return e
}

// start tells the child to become the browser, and returns when it has, or has said why not.
func (n *namespace) start(cmd *exec.Cmd) (*exec.Cmd, error) {
	out, ok := cmd.Stdout.(*os.File)
	if !ok || len(cmd.ExtraFiles) != 2 {
		return nil, errors.New("the command is not one of a browser")
	}
	what := execRequest{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Folder: userDataDirOf(cmd.Args)}
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
	case errors.Is(err, io.EOF): // its end closes with the exec, or with its death, which who waits for it sees
		n.replaced = true
		return n.child, nil
	}
	return nil, &IsolationError{Err: fmt.Errorf("the namespace's process did not become the browser: %w", err)}
}

// startFailure gives what the child could not do its kind.
func startFailure(path string, m *childReport) error {
	switch m.Step {
	case stepExec:
		return &StartError{Kind: StartNotFound, Err: fmt.Errorf("%s cannot be started inside the namespace: %w", path, m.err())}
	case stepFolder:
		return &StartError{Kind: StartUnwritable, Err: fmt.Errorf("the browser cannot write the profile's folder, which must belong to warren's user: %w", m.err())}
	case stepFiles:
		return &IsolationError{Err: fmt.Errorf("%s: %s", m.Step, m.Error)}
	}
	return fmt.Errorf("%s: %w", m.Step, m.err())
}

func (n *namespace) listener() net.Listener    { return n.l }
func (n *namespace) admit(net.Conn, int) error { return nil } // nobody else can reach the socket

func (n *namespace) isolation() Isolation {
	files := FilesInNamespace
	if n.filesRefused != nil {
		files = FilesByGuard
	}
	return Isolation{Network: InNamespace, Files: files, Sandbox: true}
}

func (n *namespace) warnings() (all []Warning) {
	if n.offline {
		all = append(all, Warning{"offline_shown", "The kernel gives the run's namespace no virtual interface (its module veth is missing: sudo modprobe veth): pages believe that they are offline, and load all the same."})
	}
	if n.filesRefused != nil {
		all = append(all, Warning{"isolation_files", "This run sees the machine's files: commands of DevTools clients that lead to the data folder are refused, but the kernel does not hide it. Why: " +
			n.filesRefused.Error() + ". What helps: " + n.filesRefused.Advice + ". --require-isolation refuses such runs."})
	}
	return all
}

// close ends a child that never became the browser, and lets the listener go.
func (n *namespace) close() (err error) {
	n.once.Do(func() {
		if n.l != nil {
			err = n.l.Close()
		}
		err = errors.Join(err, n.line.Close())
		if !n.replaced {
			_ = n.child.Process.Kill() // it would go by itself; one that hangs would not
			_ = n.child.Wait()         // that it was killed is no error
		}
	})
	return err
}
