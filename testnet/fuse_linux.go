package testnet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel's side of a Disk: the protocol of /dev/fuse (linux/fuse.h, version 7.31), little-endian. It has only the operations that
// a Disk needs; to the others the kernel hears ENOSYS, and does without.

// The operations.
const (
	fuseLookup, fuseForget, fuseGetattr, fuseSetattr, fuseReadlink, fuseSymlink = 1, 2, 3, 4, 5, 6
	fuseMknod, fuseMkdir, fuseUnlink, fuseRmdir, fuseRename, fuseLink           = 8, 9, 10, 11, 12, 13
	fuseRead, fuseWrite, fuseStatfs, fuseFsync, fuseInit                        = 15, 16, 17, 20, 26
	fuseReaddir, fuseFsyncdir, fuseInterrupt, fuseBatchForget, fuseRename2      = 28, 30, 36, 42, 45
)

// Bits of setattr.
const setMode, setSize, setAccessed, setModified, setAccessedNow, setModifiedNow = 1, 8, 16, 32, 128, 256

// mostWritten is how many bytes one write has at most.
const mostWritten = 1 << 20

// fuseHeader begins a request.
type fuseHeader struct {
	Length, Operation        uint32
	ID, Node                 uint64
	User, Group, PID, Unused uint32
}

type fuseAttr struct {
	Node, Size, Blocks, Accessed, Modified, Changed    uint64
	AccessedNs, ModifiedNs, ChangedNs                  uint32
	Mode, Links, User, Group, Device, BlockSize, Flags uint32
}

type fuseEntry struct {
	Node, Generation, Valid, AttrValid uint64
	ValidNs, AttrValidNs               uint32
	Attr                               fuseAttr
}

type fuseAttrOut struct {
	Valid      uint64
	Ns, Unused uint32
	Attr       fuseAttr
}

type fuseSetattrIn struct {
	Valid, Unused                                    uint32
	Handle, Size, Owner, Accessed, Modified, Changed uint64
	AccessedNs, ModifiedNs, ChangedNs, Mode, Unused4 uint32
	User, Group, Unused5                             uint32
}

// fuseIO begins the requests read, write and readdir.
type fuseIO struct {
	Handle, At   uint64
	Size, Flags  uint32
	Owner        uint64
	Open, Unused uint32
}

type fuseInitOut struct {
	Major, Minor, ReadAhead, Flags uint32
	Background, Congestion         uint16
	MostWritten, Granularity       uint32
	MostPages, Alignment           uint16
	Flags2                         uint32
	Unused                         [7]uint32
}

type fuseStatfsOut struct {
	Blocks, Free, Available, Files, FilesFree uint64
	BlockSize, NameLength, Fragment           uint32
	Unused                                    [7]uint32
}

// forever is how long the kernel may believe an answer, in seconds: nobody else changes a Disk.
const forever = 1 << 30

// mount mounts the disk, and answers the kernel until the test ends.
func (d *Disk) mount(t testing.TB) {
	t.Helper()
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("needs /dev/fuse: %v", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device)
	if err := unix.Mount("disk", d.Dir, "fuse", unix.MS_NODEV|unix.MS_NOSUID, options); err != nil {
		unix.Close(device) //nolint:errcheck // nothing uses it
		t.Skipf("only root can mount a disk of its own: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.answer(device)
	}()
	t.Cleanup(func() {
		if err := unix.Unmount(d.Dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		select {
		case <-ended:
		case <-time.After(Patience):
			t.Error("a process still uses the disk")
		}
		unix.Close(device) //nolint:errcheck // it was unmounted
	})
}

// answer answers the kernel's requests, one after another, until the disk is unmounted.
func (d *Disk) answer(device int) {
	buffer := make([]byte, mostWritten+1<<16)
	for {
		n, err := unix.Read(device, buffer)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		var h fuseHeader
		if err != nil || n < binary.Size(h) {
			return // ENODEV: it was unmounted
		}
		body := readAs(buffer[:n], &h)
		if h.Operation == fuseForget || h.Operation == fuseBatchForget || h.Operation == fuseInterrupt {
			continue
		}
		out, errno := d.request(h, body)
		head := binary.LittleEndian.AppendUint32(nil, uint32(16+len(out)))
		head = binary.LittleEndian.AppendUint32(head, uint32(-int32(errno)))
		head = binary.LittleEndian.AppendUint64(head, h.ID)
		if _, err := unix.Write(device, append(head, out...)); err != nil && !errors.Is(err, unix.ENOENT) { // it was interrupted
			fmt.Fprintln(os.Stderr, "disk:", err)
		}
	}
}

// readAs reads a structure, and returns what follows it.
func readAs(b []byte, into any) []byte {
	n, err := binary.Decode(b, binary.LittleEndian, into)
	if err != nil {
		panic(err) // the kernel sends whole requests
	}
	return b[n:]
}

func bytesOf(v any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err) // a structure of fixed size
	}
	return b
}

// nameIn returns the first text of a request, and what follows it.
func nameIn(b []byte) (string, []byte) {
	name, rest, _ := bytes.Cut(b, []byte{0})
	return string(name), rest
}

// request answers one request. It has a case per operation and reads best as one table.
func (d *Disk) request(h fuseHeader, body []byte) ([]byte, unix.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch h.Operation {
	case fuseInit:
		const bigWrites, manyPages = 1 << 5, 1 << 22
		return bytesOf(fuseInitOut{Major: 7, Minor: 31, ReadAhead: 1 << 17, Flags: bigWrites | manyPages, Background: 16, Congestion: 12,
			MostWritten: mostWritten, Granularity: 1, MostPages: mostWritten / 4096}), 0
	case fuseStatfs:
		const blocks = 25 << 20 // 100 GiB
		return bytesOf(fuseStatfsOut{Blocks: blocks, Free: blocks, Available: blocks, Files: 1 << 20, FilesFree: 1 << 20, BlockSize: 4096,
			NameLength: 255, Fragment: 4096}), 0
	case fuseLookup:
		name, _ := nameIn(body)
		return d.entry(d.nodes[h.Node].names[name])
	case fuseGetattr:
		return bytesOf(fuseAttrOut{Valid: forever, Attr: d.attr(h.Node)}), 0
	case fuseSetattr:
		var in fuseSetattrIn
		readAs(body, &in)
		return d.setattr(h.Node, in)
	case fuseReadlink:
		return []byte(d.nodes[h.Node].target), 0
	case fuseSymlink:
		name, rest := nameIn(body)
		target, _ := nameIn(rest)
		return d.make(h.Node, name, node{mode: unix.S_IFLNK | 0o777, target: target})
	case fuseMknod:
		name, _ := nameIn(body[16:])
		return d.make(h.Node, name, node{mode: binary.LittleEndian.Uint32(body)})
	case fuseMkdir:
		name, _ := nameIn(body[8:])
		return d.make(h.Node, name, node{mode: unix.S_IFDIR | binary.LittleEndian.Uint32(body), names: map[string]uint64{}})
	case fuseUnlink, fuseRmdir:
		name, _ := nameIn(body)
		return nil, d.remove(h.Node, name, h.Operation == fuseRmdir)
	case fuseRename, fuseRename2:
		to := binary.LittleEndian.Uint64(body)
		from, rest := nameIn(body[map[bool]int{true: 16, false: 8}[h.Operation == fuseRename2]:])
		name, _ := nameIn(rest)
		var flags uint32
		if h.Operation == fuseRename2 {
			flags = binary.LittleEndian.Uint32(body[8:])
		}
		return nil, d.rename(h.Node, from, to, name, flags)
	case fuseLink:
		name, _ := nameIn(body[8:])
		return d.link(binary.LittleEndian.Uint64(body), h.Node, name)
	case fuseRead:
		var in fuseIO
		readAs(body, &in)
		data := d.nodes[h.Node].data
		from := min(in.At, uint64(len(data)))
		return data[from:min(from+uint64(in.Size), uint64(len(data)))], 0
	case fuseWrite:
		var in fuseIO
		text := readAs(body, &in)
		if errno := d.write(h.Node, in.At, text[:in.Size]); errno != 0 {
			return nil, errno
		}
		return bytesOf([2]uint32{in.Size}), 0
	case fuseReaddir:
		var in fuseIO
		readAs(body, &in)
		return d.list(h.Node, in.At, int(in.Size)), 0
	case fuseFsync, fuseFsyncdir:
		return nil, d.sync(h.Node)
	}
	return nil, unix.ENOSYS
}

// entry answers with a node; 0 is none.
func (d *Disk) entry(id uint64) ([]byte, unix.Errno) {
	if id == 0 {
		return nil, unix.ENOENT
	}
	return bytesOf(fuseEntry{Node: id, Valid: forever, AttrValid: forever, Attr: d.attr(id)}), 0
}

func (d *Disk) attr(id uint64) fuseAttr {
	n := d.nodes[id]
	size := uint64(max(len(n.data), len(n.target)))
	modified := uint64(n.modified.Unix())
	return fuseAttr{Node: id, Size: size, Blocks: (size + 511) / 512, Accessed: modified, Modified: modified,
		Changed: uint64(n.changed.Unix()), ModifiedNs: uint32(n.modified.Nanosecond()), ChangedNs: uint32(n.changed.Nanosecond()),
		Mode: n.mode, Links: uint32(max(n.links, 1)), BlockSize: 4096}
}
