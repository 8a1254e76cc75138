package api

import (
	"context"
	"time"

	"warren/nodes"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// The operations on the servers that share a database. A server with a database of its own is the only one.

// NodeJSON is a server as the API shows it.
type NodeJSON struct {
	ID         string            `json:"id" doc:"Kept over restarts. local: a server with a database of its own." example:"0199a1c2-7d3e-7a10-8a55-01234567a0de"`
	Name       string            `json:"name" example:"warren-1"`
	Address    string            `json:"address" doc:"Where the other servers reach it." example:"https://warren-1.example:7777"`
	Version    string            `json:"version" doc:"Of Warren." example:"1.0.0"`
	Self       bool              `json:"self" doc:"It is the server that answers."`
	State      nodes.State       `json:"state" enum:"up,stopped,unreachable" doc:"up: its beat moves. stopped: it ended in order. unreachable: its beat stands still."`
	Draining   bool              `json:"draining" doc:"It takes no new starts."`
	SeenAgo    float64           `json:"seenSecondsAgo" doc:"How long ago its beat moved, by the database's clock, in seconds." example:"2.5"`
	StartedAt  time.Time         `json:"startedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	Running    int64             `json:"running" doc:"Browsers that run there, at the last beat." example:"12"`
	MaxRunning *int64            `json:"maxRunning" doc:"Browsers that may run there at once; null: no limit." example:"30"`
	Pressure   int64             `json:"pressure" doc:"How busy its machine is, at the last beat: what it has least of, processor, memory or maxRunning, in percent. A profile's first start goes where it is low." example:"40"`
	Browsers   []NodeBrowserJSON `json:"browsers" doc:"What is installed there."`
	Labels     map[string]string `json:"labels"`
}

// NodeBrowserJSON is a browser of a server.
type NodeBrowserJSON struct {
	System  string `json:"system" doc:"The operating system of the server's machine." example:"linux"`
	Version string `json:"version" example:"156.0.8078.79"`
}

func (NodeJSON) example() any {
	return NodeJSON{ID: exampleNodeID, Name: "warren-1", Address: "https://warren-1.example:7777", Version: "1.0.0", Self: true,
		State: nodes.Up, SeenAgo: 2.5, StartedAt: exampleTime(), Running: 12, MaxRunning: new(int64(30)), Pressure: 40,
		Browsers: []NodeBrowserJSON{{"linux", "156.0.8078.79"}}, Labels: map[string]string{"zone": "berlin"}}
}

const exampleNodeID = "0199a1c2-7d3e-7a10-8a55-01234567a0de"

func nodeFrom(n nodes.Info) NodeJSON {
	out := NodeJSON{ID: n.ID, Name: n.Name, Address: n.Address, Version: n.Version, Self: n.Self, State: n.State, Draining: n.Draining,
		SeenAgo: n.Seen.Seconds(), StartedAt: n.Started.UTC().Truncate(time.Millisecond), Running: n.Running,
		Pressure: n.Pressure,
		Browsers: []NodeBrowserJSON{}, Labels: n.Labels}
	if n.Capacity > 0 {
		out.MaxRunning = &n.Capacity
	}
	for _, b := range n.Browsers {
		out.Browsers = append(out.Browsers, NodeBrowserJSON(b))
	}
	return out
}

// listNodes answers all servers on one page: they are few.
func (s *API) listNodes(ctx context.Context, _ *struct{}) (*listBody[NodeJSON], error) {
	all, err := s.nodes.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]NodeJSON, 0, len(all))
	for _, n := range all {
		out = append(out, nodeFrom(n))
	}
	return &listBody[NodeJSON]{wholeList(out)}, nil
}

// NodePath names one server.
type NodePath struct {
	ID string `path:"id" doc:"The server's id, as GET /nodes has it."`
}

// nodeDrain drains a server.
type nodeDrain struct {
	NodePath
	UntilRestart bool `query:"untilRestart" doc:"It takes starts again when it is started anew, unless it drained before. Only the server itself can be asked for that."`
}

func (s *API) drainNode(ctx context.Context, in *nodeDrain) (*struct{ Body NodeJSON }, error) {
	return s.setDraining(ctx, in.ID, true, in.UntilRestart)
}

func (s *API) undrainNode(ctx context.Context, in *struct{ NodePath }) (*struct{ Body NodeJSON }, error) {
	return s.setDraining(ctx, in.ID, false, false)
}

// setDraining records whether a server takes no new starts. This one follows at once, another one with its next beat.
func (s *API) setDraining(ctx context.Context, id string, draining, untilRestart bool) (*struct{ Body NodeJSON }, error) {
	if err := mayChangeNodes(ctx); err != nil {
		return nil, err
	}
	n, err := s.nodes.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if untilRestart && !n.Self {
		return nil, problem.NotValid(problem.Fault{Location: "query.untilRestart", Message: "Ask the server " + n.Name + " itself, at " +
			n.Address + ", or leave this out."})
	}
	about(ctx, "", id, map[string]any{"name": n.Name})
	err = s.change(ctx, func(q *store.Queries) error { return s.nodes.Drain(ctx, q, id, draining, untilRestart) })
	if err != nil {
		return nil, err
	}
	s.nodes.Drained(id, draining)
	n.Draining = draining
	return &struct{ Body NodeJSON }{nodeFrom(n)}, nil
}

// nodeDelete removes a server.
type nodeDelete struct {
	NodePath
	Forget bool `query:"forget" doc:"Give up the data of the server's profiles, which then start anew elsewhere. Without it they wait for the server to come back."`
}

func (nodeDelete) problems() []*problem.Error { return []*problem.Error{nodes.Alive("warren-1")} }

// removeNode deletes the entry of a server that is gone, and settles what it has left.
func (s *API) removeNode(ctx context.Context, in *nodeDelete) (*struct{}, error) {
	if err := mayChangeNodes(ctx); err != nil {
		return nil, err
	}
	about(ctx, "", in.ID, map[string]any{"forget": in.Forget})
	return nil, s.change(ctx, func(q *store.Queries) error {
		r, err := s.nodes.Remove(ctx, q, in.ID, in.Forget)
		if err != nil {
			return err
		}
		about(ctx, "", in.ID, map[string]any{"name": r.Name, "runs": r.Lost, "profiles": r.Profiles, "forget": in.Forget})
		return nil
	})
}

// mayChangeNodes refuses keys that do not see all workspaces, since a server is for all of them.
func mayChangeNodes(ctx context.Context) error {
	if callerOf(ctx).Sees.SeesAll() {
		return nil
	}
	return problem.New(problem.Forbidden, "forbidden", "A server is for all workspaces: only a key that sees all of them changes one.")
}

func exampleElsewhere() *problem.Error {
	row := store.Node{ID: exampleNodeID, Name: "warren-1", Address: "https://warren-1.example:7777"}
	return runs.NodeUnreachable(exampleNodeID, row, 40*time.Second)
}
