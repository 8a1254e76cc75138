package nodes

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Lists the nodes, and changes what they take.

// State says whether a node serves.
type State string

// The states of a node.
const (
	Up          State = "up"          // its beat moves
	Stopped     State = "stopped"     // it ended in order
	Unreachable State = "unreachable" // its beat stands still
)

// Browser is a browser that a node has.
type Browser struct {
	System  string `json:"system"`  // of the node's machine, as GOOS has it
	Version string `json:"version"` // "156.0.8078.79"
}

// Info is a node as it was last seen.
type Info struct {
	ID, Name, Address, Version string
	Self                       bool // it is the server that was asked
	State                      State
	Draining                   bool
	Seen                       time.Duration // since its beat moved, by the database's clock
	Started                    time.Time
	Running, Capacity          int64 // browsers; a capacity of 0: no limit
	Pressure                   int64 // how busy its machine is, in percent
	Browsers                   []Browser
	Labels                     map[string]string
}

// List returns all nodes by their names.
func (n *Node) List(ctx context.Context) ([]Info, error) {
	if n.store == nil {
		return []Info{n.self(ctx)}, nil
	}
	rows, at, err := n.readAll(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Info, 0, len(rows))
	for _, row := range rows {
		out = append(out, n.info(row, at))
	}
	return out, nil
}

// Get returns a node. An unknown id is problem.Missing.
func (n *Node) Get(ctx context.Context, id string) (Info, error) {
	all, err := n.List(ctx)
	if err != nil {
		return Info{}, err
	}
	i := slices.IndexFunc(all, func(one Info) bool { return one.ID == id })
	if i < 0 {
		return Info{}, problem.Missing("node")
	}
	return all[i], nil
}

// Lives reports whether the server of an id is there and its beat moves.
func (n *Node) Lives(ctx context.Context, id string) (bool, error) {
	one, err := n.Get(ctx, id)
	if problem.Is(err, problem.NotFound) {
		return false, nil
	}
	return one.State == Up, err
}

// self is this server from memory.
func (n *Node) self(ctx context.Context) Info {
	running, browsers := n.report(ctx)
	out := Info{ID: n.id, Name: n.cfg.Name, Address: n.cfg.Address, Version: n.cfg.Version, Self: true, State: Up, Started: n.started,
		Running: running, Capacity: int64(n.cfg.Capacity), Browsers: []Browser{}, Labels: map[string]string{}}
	_ = json.Unmarshal([]byte(browsers), &out.Browsers) // it was made here
	out.Pressure = n.pressure()
	n.mu.Lock()
	out.Draining = n.draining
	n.mu.Unlock()
	return out
}

// info makes a node of its row. at is the database's time in milliseconds.
func (n *Node) info(row store.Node, at int64) Info {
	out := Info{ID: row.ID, Name: row.Name, Address: row.Address, Version: row.Version, Self: row.ID == n.id, State: Up,
		Draining: row.Draining, Seen: max(0, time.Duration(at-row.BeatAt)*time.Millisecond), Started: runs.Millis(row.StartedAt),
		Running: row.Running, Capacity: row.Capacity, Pressure: row.Pressure, Browsers: []Browser{}, Labels: map[string]string{}}
	switch {
	case row.Stopped:
		out.State = Stopped
	case out.Seen >= n.goneAfter():
		out.State = Unreachable
	}
	err := errors.Join(json.Unmarshal([]byte(row.Browsers), &out.Browsers), json.Unmarshal([]byte(row.Labels), &out.Labels))
	if err != nil {
		n.log.Warn("the row of a node cannot be read", "node", row.ID, "cause", err)
	}
	return out
}

// Drain records whether a node takes no new starts, in a transaction. Drained must follow when that is committed. With untilRestart a node
// that does not drain already takes starts again when it is started anew. An unknown id is problem.Missing.
func (n *Node) Drain(ctx context.Context, q *store.Queries, id string, draining, untilRestart bool) error {
	if n.store == nil {
		if id != n.id {
			return problem.Missing("node")
		}
		return nil
	}
	row, err := q.GetNode(ctx, id)
	if errors.Is(err, store.ErrNoRow) {
		return problem.Missing("node")
	}
	switch {
	case err != nil:
		return err
	case !draining || !untilRestart:
		_, err = q.DeleteSetting(ctx, untilRestartSetting(id))
	case !row.Draining:
		err = q.SetSetting(ctx, store.SetSettingParams{Name: untilRestartSetting(id), Value: "true"})
	} // else it drains already, until its restart or for good
	if err != nil {
		return err
	}
	return store.ErrorOf(q.DrainNode(ctx, store.DrainNodeParams{ID: id, Draining: draining}))
}

// untilRestartSetting is the name of the setting which says that a node drains until its restart. There is none for another node.
func untilRestartSetting(id string) string { return "drain_until_restart_" + id }

// takeAgain ends a drain of a node that was meant until its restart, in a transaction.
func takeAgain(ctx context.Context, q *store.Queries, id string) error {
	meant, err := q.DeleteSetting(ctx, untilRestartSetting(id))
	if err != nil || meant == 0 {
		return err
	}
	return store.ErrorOf(q.DrainNode(ctx, store.DrainNodeParams{ID: id, Draining: false}))
}

// Removed is what the removal of a node has settled.
type Removed struct {
	Name     string
	Lost     int   // runs
	Profiles int64 // whose data the node has
}

// Remove deletes the row of a node that is gone, in a transaction. Its open runs are recorded as lost, and its profiles do not run any
// more. Occurrences of schedules that it ran are interrupted. The keys of requests that it had begun can be used again, and
// proxies that it had dealt.
//
// Its profiles' data stay its own, since it may come back. With forget they are given up, with their snapshots, so that the profiles start
// anew elsewhere. That can be said later, too, of a node that has profiles and no row. The error is problem.Missing for an unknown id, and
// node_alive for a node whose beat moves.
func (n *Node) Remove(ctx context.Context, q *store.Queries, id string, forget bool) (r Removed, err error) {
	if n.store == nil {
		if id == n.id {
			return r, Alive(n.cfg.Name)
		}
		return r, problem.Missing("node")
	}
	row, err := q.GetNode(ctx, id)
	gone := errors.Is(err, store.ErrNoRow)
	if err != nil && !gone {
		return r, err
	}
	if r.Profiles, err = q.CountProfilesOfNode(ctx, id); err != nil {
		return r, err
	}
	if gone && (!forget || r.Profiles == 0) {
		return r, problem.Missing("node")
	}
	at, err := q.DatabaseTime(ctx)
	if err != nil {
		return r, err
	}
	if !gone && n.info(row, at).State == Up {
		return r, Alive(row.Name)
	}
	r.Name = row.Name
	if r.Lost, err = settle(ctx, q, id); err != nil {
		return r, err
	}
	if forget {
		if err := giveUp(ctx, q, id); err != nil {
			return r, err
		}
	}
	return r, store.ErrorOf(q.DeleteNode(ctx, id))
}

// giveUp makes the profiles whose data a node has begin anew. Their snapshots are with that node, too.
func giveUp(ctx context.Context, q *store.Queries, id string) error {
	if _, err := q.DeleteSnapshotsOfNode(ctx, id); err != nil {
		return err
	}
	return store.ErrorOf(q.UnplaceProfiles(ctx, id))
}

// settle ends what a node that is gone had begun. It returns how many runs are lost.
func settle(ctx context.Context, q *store.Queries, id string) (lost int, err error) {
	if lost, err = runs.SettleNode(ctx, q, id); err != nil {
		return lost, err
	}
	if err := store.ErrorOf(q.InterruptSchedules(ctx, id)); err != nil {
		return lost, err
	}
	if err := store.ErrorOf(q.DeleteSetting(ctx, untilRestartSetting(id))); err != nil {
		return lost, err
	}
	if err := store.ErrorOf(q.DeleteUnfinishedIdempotency(ctx, id)); err != nil {
		return lost, err
	}
	return lost, store.ErrorOf(q.DeleteDealsOfNode(ctx, id))
}

// Alive is the error of the removal of a node that serves.
func Alive(name string) *problem.Error {
	return problem.New(problem.Conflict, "node_alive", "The server "+name+" serves: its beat moves. Stop it first. A server that was "+
		"killed counts as gone after 15 seconds.")
}

// report returns how many browsers run here, and the list of those that are installed as its row has it.
func (n *Node) report(ctx context.Context) (running int64, browsers string) {
	running, m := n.count()
	list := []Browser{}
	if m != nil {
		found, err := m.Browsers(ctx) // an error is that there is none
		for _, b := range found {
			if one := (Browser{runtime.GOOS, b.Version}); err == nil && !slices.Contains(list, one) {
				list = append(list, one)
			}
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return running, "[]"
	}
	return running, string(text)
}

// pressure returns how busy this machine is, in percent; 0 before Attach.
func (n *Node) pressure() int64 {
	_, m := n.count()
	if m == nil {
		return 0
	}
	return pressureOf(m.Pressure())
}

// count returns how many browsers run here. The manager is nil before Attach.
func (n *Node) count() (int64, *runs.Manager) {
	n.mu.Lock()
	m := n.runs
	n.mu.Unlock()
	if m == nil {
		return 0, nil
	}
	return int64(m.CountRuns()), m
}

// labelsText is the object of a row.
func labelsText(labels map[string]string) string {
	if len(labels) == 0 {
		return "{}"
	}
	text, err := json.Marshal(labels, json.Deterministic(true))
	if err != nil {
		return "{}" // the configuration has checked them
	}
	return string(text)
}
