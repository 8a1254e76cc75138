package browser

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// knowsPeers says that this system tells who owns the other end of a connection.
const knowsPeers = true

// peers tells whether the other end of a loopback connection belongs to a browser's process. The socket's inode comes from the kernel
// (sock_diag(7), exact lookup of one connection, 20 to 95 µs), its owner from /proc/PID/fd.
type peers struct {
	last atomic.Int64 // the process of the last connection, mostly Chrome's network service
}

var errStranger = errors.New("the connection is not the browser's")

// check returns an error unless the peer's socket belongs to a process of the group: errStranger, or why that is unknown.
func (p *peers) check(c net.Conn, group int) error {
	if group == 0 {
		return fmt.Errorf("%w: there is no browser yet", errStranger)
	}
	inode, err := peerInode(c)
	if err != nil {
		return fmt.Errorf("whose connection it is cannot be told: %w", err)
	}
	link := "socket:[" + strconv.FormatUint(uint64(inode), 10) + "]"
	if last := int(p.last.Load()); last != 0 && isMember(last, group) && hasOpen(last, link) {
		return nil
	}
	processes, _ := os.ReadDir("/proc") // without /proc nobody is known
	for _, e := range processes {
		if pid, err := strconv.Atoi(e.Name()); err == nil && isMember(pid, group) && hasOpen(pid, link) {
			p.last.Store(int64(pid))
			return nil
		}
	}
	return errStranger
}

// hasOpen reports whether a process has the file open. A process that cannot be inspected counts as one that has not.
func hasOpen(pid int, link string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && to == link {
			return true
		}
	}
	return false
}

// isMember reports whether a process exists and belongs to a group.
func isMember(pid, group int) bool {
	id, err := unix.Getpgid(pid)
	return err == nil && id == group
}

// inetDiagRequest is struct inet_diag_req_v2 (linux/inet_diag.h) for one connection. Ports and addresses are in network order.
type inetDiagRequest struct {
	family, protocol, extensions, _ uint8
	states                          uint32
	sourcePort, destinationPort     [2]byte
	source, destination             [16]byte
	device                          uint32
	cookie                          [2]uint32
}

const sockDiagByFamily = 20 // linux/sock_diag.h

// peerInode returns the inode of the socket at the other end of c, which is on this machine.
func peerInode(c net.Conn) (uint32, error) {
	theirs, ok := c.RemoteAddr().(*net.TCPAddr)
	ours, ok2 := c.LocalAddr().(*net.TCPAddr)
	if !ok || !ok2 {
		return 0, errors.New("it is no TCP connection")
	}
	a, b := theirs.AddrPort(), ours.AddrPort()
	request := inetDiagRequest{
		family: unix.AF_INET, protocol: unix.IPPROTO_TCP, states: ^uint32(0), cookie: [2]uint32{^uint32(0), ^uint32(0)}}
	request.sourcePort, request.destinationPort = networkOrder(a.Port()), networkOrder(b.Port())
	from, to := a.Addr().Unmap().As4(), b.Addr().Unmap().As4()
	copy(request.source[:], from[:])
	copy(request.destination[:], to[:])
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&request)), unsafe.Sizeof(request))
	answer, err := askKernel(unix.NETLINK_SOCK_DIAG, sockDiagByFamily, 0, raw)
	if errors.Is(err, unix.ENOENT) {
		err = fmt.Errorf("the kernel knows no such connection: %w", err)
	}
	if err != nil {
		return 0, err
	}
	// struct inet_diag_msg: family, state, timer, retrans; id (48 bytes); expires, rqueue, wqueue, uid, inode.
	const inodeAt = 4 + 48 + 4*4
	if len(answer) < inodeAt+4 {
		return 0, errors.New("the kernel's answer is too short")
	}
	inode := *(*uint32)(unsafe.Pointer(&answer[inodeAt]))
	if inode == 0 {
		return 0, errors.New("its owner has closed it")
	}
	return inode, nil
}

func networkOrder(port uint16) [2]byte { return [2]byte{byte(port >> 8), byte(port)} }
