// Package nodes says who this server is among those that share a PostgreSQL database, and who the others are. Each server has a row
// there, whose beat moves while it serves. Ages of beats are of the database's clock, so that no two machines' clocks are compared. A
// server with a database of its own is the only node, and has no row. Requests from one server to another go over TLS with certificates on
// both sides, by an authority that the database keeps.
package nodes

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"warren/problem"
	"warren/runs"
	"warren/store"
)

const (
	// lostBeats is how many beats may be lost until a server counts as gone.
	lostBeats = 3
	// beatEvery is how often the beat moves.
	beatEvery = store.NodeGone / lostBeats
	// leaveTime is how long the end of a server waits for the database.
	leaveTime = 3 * time.Second
	// aloneID is the id of a server with a database of its own.
	aloneID = "local"
)

// Config is what a server tells of itself.
type Config struct {
	Data     string            // the data folder, which keeps the id
	Name     string            // for people; not unique
	Address  string            // a URL at which the other servers reach it
	Version  string            // of Warren
	Labels   map[string]string // for the choice of a server
	Capacity int               // browsers that may run at once; 0: no limit

	// BeatEvery is how often the beat moves. A server counts as gone after three lost beats. 0: 5 s.
	BeatEvery time.Duration
}

// Node is this server. Its methods are safe for concurrent use.
type Node struct {
	cfg         Config
	id          string
	incarnation string
	log         *slog.Logger
	store       *store.Store // nil: the server has a database of its own
	started     time.Time
	cancel      context.CancelFunc
	wake        chan struct{} // asks for a beat at once
	done        chan struct{} // closed when the beat moves no more
	rows        rows
	links       *links // nil: the server has a database of its own

	mu       sync.Mutex
	runs     *runs.Manager // nil until Attach
	draining bool
	fault    *problem.Error // why this server must not start browsers any more; nil: it may
}

// Alone returns the node of a server with a database of its own. Its row is in memory alone, so that it drains until its end.
func Alone(cfg Config) *Node {
	return &Node{cfg: cfg, id: aloneID, started: time.Now()}
}

// ID returns the id, which is kept over restarts.
func (n *Node) ID() string { return n.id }

// Owner returns the id that profiles get whose data this server has. It is empty where no other server could have them.
func (n *Node) Owner() string {
	if n.store == nil {
		return ""
	}
	return n.id
}

// Fault returns why this server must not start browsers: another process uses its id, or its row was removed. Nil: it may.
func (n *Node) Fault() *problem.Error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.fault
}

// Attach makes the manager of the runs follow: it takes no starts while the node is draining. The beat tells how many runs it has.
func (n *Node) Attach(m *runs.Manager) {
	n.mu.Lock()
	n.runs = m
	n.mu.Unlock()
	n.apply()
	if n.wake != nil {
		n.wake <- struct{}{}
	}
}

// apply tells the manager whether starts are refused.
func (n *Node) apply() {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.runs == nil:
	case n.fault != nil:
		n.runs.Refuse(n.fault)
	case n.draining:
		n.runs.Refuse(Draining())
	default:
		n.runs.Refuse(nil)
	}
}

// Drained makes this server follow a change of Drain that was committed. A change of another node is that node's.
func (n *Node) Drained(id string, draining bool) {
	if id == n.id {
		n.setDraining(draining)
	}
}

func (n *Node) setDraining(draining bool) {
	n.mu.Lock()
	changed := n.draining != draining
	n.draining = draining
	n.mu.Unlock()
	if changed {
		n.apply()
	}
}

// setFault ends what this server may start, for good, and its runs: their profiles count as stopped, and may run elsewhere.
func (n *Node) setFault(p *problem.Error) {
	n.log.Error("this server starts no browsers any more, and ends its runs", "cause", p.Message)
	n.mu.Lock()
	n.fault = p
	m := n.runs
	n.mu.Unlock()
	n.apply()
	if m != nil {
		m.EndRuns()
	}
}

// Draining is the error of a start on a server that is draining.
func Draining() *problem.Error {
	return problem.New(problem.Conflict, "node_draining",
		"This server is draining: it takes no new starts. An administrator ends that with `warren node undrain`.")
}

// Taken is the error of a server whose id another process uses. name and address are that one's.
func Taken(name, address string) *problem.Error {
	return problem.New(problem.Unavailable, "node_conflict", fmt.Sprintf("Another server (%s at %s) uses the id of this one, so that this "+
		"one starts no browsers. One of the data folders is a copy of the other: stop one server, delete node.json in its data folder, "+
		"and start it again.", name, address))
}

// removed is the error of a server whose row is gone.
func removed() *problem.Error {
	return problem.New(problem.Unavailable, "node_conflict", "This server was removed from the database while it did not reach it, so "+
		"that it starts no browsers. Start it again: it makes a new entry.")
}
