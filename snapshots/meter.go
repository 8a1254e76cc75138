package snapshots

import (
	"io"
	"sync/atomic"
)

// Meter counts what a backup or a restore has done. It may be read meanwhile.
type Meter struct {
	step               atomic.Pointer[string]
	done, total, bytes atomic.Int64
}

// Progress is how far a backup or a restore is.
type Progress struct {
	Step  string // what is going on, such as "copying objects"
	Done  int64  // objects that are there, or that are removed
	Total int64  // of all objects; 0: not known
	Bytes int64  // written, or removed
}

// Now returns how far it is.
func (m *Meter) Now() Progress {
	p := Progress{Done: m.done.Load(), Total: m.total.Load(), Bytes: m.bytes.Load()}
	if step := m.step.Load(); step != nil {
		p.Step = *step
	}
	return p
}

// The steps of a backup and of a restore.
const (
	stepDatabase = "copying the database"
	stepWaiting  = "waiting until old backups are removed"
	stepObjects  = "copying objects"
	stepRemoving = "removing old backups"
)

// begin says what goes on now. A nil meter counts nothing.
func (m *Meter) begin(step string) {
	if m != nil {
		m.step.Store(&step)
	}
}

// again begins to count from nothing.
func (m *Meter) again(step string) {
	if m != nil {
		m.done.Store(0)
		m.total.Store(0)
		m.bytes.Store(0)
		m.begin(step)
	}
}

// expect says how many objects there are.
func (m *Meter) expect(objects int64) {
	if m != nil {
		m.total.Store(objects)
	}
}

// object counts one, and the bytes that were written for it.
func (m *Meter) object(bytes int64) {
	if m != nil {
		m.done.Add(1)
		m.bytes.Add(bytes)
	}
}

// wrote counts bytes.
func (m *Meter) wrote(bytes int64) {
	if m != nil {
		m.bytes.Add(bytes)
	}
}

// Write counts bytes. It is of io.Writer.
func (m *Meter) Write(b []byte) (int, error) {
	m.wrote(int64(len(b)))
	return len(b), nil
}

var _ io.Writer = (*Meter)(nil)
