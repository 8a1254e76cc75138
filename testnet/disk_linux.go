package testnet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Disk is a file system in this process's memory that notes every change, and can make each of them fail. Other processes use it
// through the kernel, as they use any disk. This process must not: a fault of a page in shared memory would wait for itself.
type Disk struct {
	Dir string // where it is mounted

	mu    sync.Mutex
	nodes map[uint64]*node
	last  uint64 // node
	steps []step
	fail  func(Change) unix.Errno
}

// node is a file, a folder, a link or a socket.
type node struct {
	mode              uint32
	data              []byte
	names             map[string]uint64 // of a folder
	target            string            // of a symbolic link
	links             int
	modified, changed time.Time
}

// root is the number of the disk's own folder, which the protocol sets.
const root = 1

// Change is something that a process wants to do to the disk.
type Change struct {
	Kind string // create, link, unlink, rename, write, truncate, sync
	Name string // the last part of its path; "" where only the node is known
}

// step is a change of the disk, in order.
type step struct {
	kind stepKind
	node uint64
	at   int64  // of data; the length, of a truncate
	data []byte // of a write
	// The folders and the names of what moved. A node that is made moves from nowhere.
	from, to   uint64
	name, into string
}

type stepKind int

const (
	wrote stepKind = iota
	truncated
	synced
	moved // also made, linked and removed
)

// NewDisk mounts a disk until the test ends. Without /dev/fuse or root the test is skipped.
func NewDisk(t testing.TB) *Disk {
	t.Helper()
	d := &Disk{Dir: t.TempDir(), last: root}
	d.nodes = map[uint64]*node{root: {mode: unix.S_IFDIR | 0o755, names: map[string]uint64{}, modified: time.Now()}}
	d.mount(t)
	return d
}

// Steps returns how many changes there were.
func (d *Disk) Steps() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.steps)
}

// Fail has a function decide which changes fail, and how; 0 lets one happen. nil lets all happen.
func (d *Disk) Fail(fail func(Change) unix.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = fail
}

func (d *Disk) fails(kind, name string) unix.Errno {
	if d.fail == nil {
		return 0
	}
	return d.fail(Change{kind, name})
}

// nameOf returns a name of a node, for Change.
func (d *Disk) nameOf(id uint64) string {
	for _, n := range d.nodes {
		for name, child := range n.names {
			if child == id {
				return name
			}
		}
	}
	return ""
}

func (d *Disk) make(folder uint64, name string, n node) ([]byte, unix.Errno) {
	if errno := d.fails("create", name); errno != 0 {
		return nil, errno
	}
	if d.nodes[folder].names[name] != 0 {
		return nil, unix.EEXIST
	}
	d.last++
	n.modified, n.changed, n.links = time.Now(), time.Now(), 1
	d.nodes[d.last] = &n
	d.nodes[folder].names[name] = d.last
	d.steps = append(d.steps, step{kind: moved, node: d.last, to: folder, into: name})
	return d.entry(d.last)
}

func (d *Disk) link(id, folder uint64, name string) ([]byte, unix.Errno) {
	if errno := d.fails("link", name); errno != 0 {
		return nil, errno
	}
	if d.nodes[folder].names[name] != 0 {
		return nil, unix.EEXIST
	}
	d.nodes[folder].names[name] = id
	d.nodes[id].links++
	d.nodes[id].changed = time.Now()
	d.steps = append(d.steps, step{kind: moved, node: id, to: folder, into: name})
	return d.entry(id)
}

func (d *Disk) remove(folder uint64, name string, isFolder bool) unix.Errno {
	if errno := d.fails("unlink", name); errno != 0 {
		return errno
	}
	id := d.nodes[folder].names[name]
	switch {
	case id == 0:
		return unix.ENOENT
	case isFolder && len(d.nodes[id].names) > 0:
		return unix.ENOTEMPTY
	}
	delete(d.nodes[folder].names, name)
	d.nodes[id].links--
	d.nodes[id].changed = time.Now()
	d.steps = append(d.steps, step{kind: moved, node: id, from: folder, name: name})
	return 0
}

func (d *Disk) rename(from uint64, name string, to uint64, into string, flags uint32) unix.Errno {
	if errno := d.fails("rename", into); errno != 0 {
		return errno
	}
	id, there := d.nodes[from].names[name], d.nodes[to].names[into]
	switch {
	case flags&^unix.RENAME_NOREPLACE != 0:
		return unix.EINVAL
	case id == 0:
		return unix.ENOENT
	case there != 0 && flags != 0:
		return unix.EEXIST
	case there != 0 && len(d.nodes[there].names) > 0:
		return unix.ENOTEMPTY
	}
	delete(d.nodes[from].names, name)
	d.nodes[to].names[into] = id
	d.nodes[id].changed = time.Now()
	d.steps = append(d.steps, step{kind: moved, node: id, from: from, name: name, to: to, into: into})
	return 0
}

func (d *Disk) write(id, at uint64, text []byte) unix.Errno {
	if d.fail != nil {
		if errno := d.fails("write", d.nameOf(id)); errno != 0 {
			return errno
		}
	}
	n := d.nodes[id]
	n.data = overwrite(n.data, int64(at), text)
	n.modified, n.changed = time.Now(), time.Now()
	d.steps = append(d.steps, step{kind: wrote, node: id, at: int64(at), data: bytes.Clone(text)})
	return 0
}

// overwrite writes a text into data, with zeros before it if data is shorter.
func overwrite(data []byte, at int64, text []byte) []byte {
	if end := at + int64(len(text)); end > int64(len(data)) {
		data = resize(data, end)
	}
	copy(data[at:], text)
	return data
}

func resize(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size:size] // what comes behind it later is zeros
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}

func (d *Disk) setattr(id uint64, in fuseSetattrIn) ([]byte, unix.Errno) {
	n := d.nodes[id]
	if in.Valid&setSize != 0 {
		if d.fail != nil {
			if errno := d.fails("truncate", d.nameOf(id)); errno != 0 {
				return nil, errno
			}
		}
		n.data = resize(n.data, int64(in.Size))
		n.modified = time.Now()
		d.steps = append(d.steps, step{kind: truncated, node: id, at: int64(in.Size)})
	}
	if in.Valid&setMode != 0 {
		n.mode = n.mode&unix.S_IFMT | in.Mode&^unix.S_IFMT
	}
	if in.Valid&setModifiedNow != 0 {
		n.modified = time.Now()
	} else if in.Valid&setModified != 0 {
		n.modified = time.Unix(int64(in.Modified), int64(in.ModifiedNs))
	}
	n.changed = time.Now()
	return bytesOf(fuseAttrOut{Valid: forever, Attr: d.attr(id)}), 0
}

func (d *Disk) sync(id uint64) unix.Errno {
	if d.fail != nil {
		if errno := d.fails("sync", d.nameOf(id)); errno != 0 {
			return errno
		}
	}
	d.steps = append(d.steps, step{kind: synced, node: id})
	return 0
}

// list answers a list of a folder from a place on, in at most so many bytes.
func (d *Disk) list(id, at uint64, most int) (out []byte) {
	names := make([]string, 0, len(d.nodes[id].names))
	for name := range d.nodes[id].names {
		names = append(names, name)
	}
	slices.Sort(names)
	for i := at; i < uint64(len(names)); i++ {
		child := d.nodes[id].names[names[i]]
		entry := binary.LittleEndian.AppendUint64(nil, child)
		entry = binary.LittleEndian.AppendUint64(entry, i+1)
		entry = binary.LittleEndian.AppendUint32(entry, uint32(len(names[i])))
		entry = binary.LittleEndian.AppendUint32(entry, d.nodes[child].mode>>12)
		entry = append(entry, names[i]...)
		for len(entry)%8 != 0 {
			entry = append(entry, 0)
		}
		if len(out)+len(entry) > most {
			break
		}
		out = append(out, entry...)
	}
	return out
}
