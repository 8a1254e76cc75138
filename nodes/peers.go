package nodes

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Finds the other servers of the database.

// rows are the servers as they were last read. Requests for others look at them often, so that they are not read each time.
type rows struct {
	mu      sync.Mutex
	all     []store.Node
	at      int64         // the database's time then, in milliseconds
	read    time.Time     // zero: never
	old     bool          // they are read again before they are used
	reading chan struct{} // closed when the reading that goes on has ended; nil: none does
	fault   error         // of the last reading
}

// rowsTime is how long a caller waits for a database that does not answer, before it takes the rows of before.
const rowsTime = 2 * time.Second

// Others returns the servers but this one, as they were a beat ago or later. Without the database it returns what it knows.
func (n *Node) Others(ctx context.Context) ([]Info, error) {
	if n.store == nil {
		return nil, nil
	}
	n.awaitRows(ctx)
	n.rows.mu.Lock()
	defer n.rows.mu.Unlock()
	if n.rows.read.IsZero() {
		return nil, cmp.Or(ctx.Err(), n.rows.fault)
	}
	at := n.rows.at + time.Since(n.rows.read).Milliseconds()
	var out []Info
	for _, row := range n.rows.all {
		if row.ID != n.id {
			out = append(out, n.info(row, at))
		}
	}
	return out, nil
}

// awaitRows has the servers read, if they are not fresh. All callers wait for the same reading. If it takes long, they do not, unless there
// are no rows yet.
func (n *Node) awaitRows(ctx context.Context) {
	n.rows.mu.Lock()
	if !n.rows.old && time.Since(n.rows.read) < n.cfg.BeatEvery {
		n.rows.mu.Unlock()
		return
	}
	if n.rows.reading == nil {
		n.rows.reading, n.rows.old = make(chan struct{}), false // who forgets them from now on has them read once more
		go n.readRows(context.WithoutCancel(ctx), n.rows.reading)
	}
	reading := n.rows.reading
	var limit <-chan time.Time
	if !n.rows.read.IsZero() {
		limit = time.After(rowsTime)
	}
	n.rows.mu.Unlock()
	select {
	case <-reading:
	case <-limit:
	case <-ctx.Done():
	}
}

// readRows reads the servers.
func (n *Node) readRows(ctx context.Context, done chan struct{}) {
	_, _, err := n.readAll(ctx)
	n.rows.mu.Lock()
	defer n.rows.mu.Unlock()
	n.rows.fault, n.rows.old, n.rows.reading = err, n.rows.old || err != nil, nil
	close(done)
}

// readAll returns the servers, and the database's time in milliseconds. They are the rows that are known from then on.
func (n *Node) readAll(ctx context.Context) ([]store.Node, int64, error) {
	began := time.Now()
	all, err := n.store.Read().ListNodes(ctx)
	if err != nil {
		return nil, 0, err
	}
	at, err := n.store.Read().DatabaseTime(ctx)
	if err != nil {
		return nil, 0, err
	}
	n.rows.mu.Lock()
	defer n.rows.mu.Unlock()
	if began.After(n.rows.read) { // else a later reading was faster
		n.rows.all, n.rows.at, n.rows.read = all, at, time.Now()
	}
	return all, at, nil
}

// Other returns a server but this one, to which requests about its profiles are passed on. The error is node_unreachable for a server that
// was removed, or that ended in order. One whose beat stands still is returned: it may answer without the database.
func (n *Node) Other(ctx context.Context, id string) (Info, error) {
	for again := range 2 {
		all, err := n.Others(ctx)
		if err != nil {
			return Info{}, err
		}
		if i := slices.IndexFunc(all, func(one Info) bool { return one.ID == id }); i >= 0 && all[i].State != Stopped {
			return all[i], nil
		} else if again > 0 && i >= 0 {
			return all[i], all[i].Unreachable()
		}
		n.forgetRows() // it may have joined a moment ago
	}
	return Info{}, runs.NodeUnreachable(id, store.Node{}, 0)
}

// forgetRows makes the next one read the servers again.
func (n *Node) forgetRows() {
	n.rows.mu.Lock()
	defer n.rows.mu.Unlock()
	n.rows.old = true
}

// Unreachable is the error of a request about a profile whose data this server has, which does not answer.
func (i Info) Unreachable() *problem.Error {
	return runs.NodeUnreachable(i.ID, store.Node{ID: i.ID, Name: i.Name, Address: i.Address}, i.Seen)
}

// Failed is the error of a request that was passed on to a server, whose answer did not come.
func Failed(name string) *problem.Error {
	return problem.New(problem.Upstream, "node_failed", "The server "+name+" has the profile's data, and its answer broke off. Whether "+
		"the request was carried out is unknown. Look at the profile, or repeat the request with the same Idempotency-Key.")
}
