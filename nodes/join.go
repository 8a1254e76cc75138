package nodes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"warren/store"
)

// Makes a server one of those that share a database.

// ErrTaken is the error of Join where another server uses this one's id. Nothing was changed.
var ErrTaken = errors.New("another server")

// fileName is the file of the data folder that keeps the id.
const fileName = "node.json"

// identity is the content of that file.
type identity struct {
	ID string `json:"id"`
}

// Join makes the row of this server, or takes it over from the last process with this data folder, and moves its beat until Leave. Where
// the last process did not end in order, Join waits until its beat counts as gone. The error is an ErrTaken if another server lives, and an
// ErrAuthority if the authority of the database cannot be opened.
func Join(ctx context.Context, cfg Config, log *slog.Logger, st *store.Store) (*Node, error) {
	id, err := readID(cfg.Data)
	if err != nil {
		return nil, err
	}
	if cfg.BeatEvery == 0 {
		cfg.BeatEvery = beatEvery
	}
	n := &Node{cfg: cfg, id: id, incarnation: store.NewID(), log: log, store: st, started: time.Now(), wake: make(chan struct{}, 1),
		done: make(chan struct{})}
	if err := n.join(ctx); err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.cancel = cancel
	go n.keep(life)
	return n, nil
}

// readID returns the id that the data folder keeps, and makes one if there is none.
func readID(dir string) (string, error) {
	path := filepath.Join(dir, fileName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = json.Marshal(identity{store.NewID()})
		if err == nil {
			err = store.WriteFile(path, string(text)+"\n")
		}
	}
	if err != nil {
		return "", fmt.Errorf("the server's id: %w", err)
	}
	var kept identity
	if err := json.Unmarshal(text, &kept); err != nil || uuid.Validate(kept.ID) != nil {
		return "", fmt.Errorf("the server's id in %s cannot be read; restore the file, or delete it: then the server is a new one, "+
			"and profiles whose data it has count as another's", path)
	}
	return kept.ID, nil
}

// goneAfter is how long a beat stands still until its server counts as gone.
func (n *Node) goneAfter() time.Duration { return lostBeats * n.cfg.BeatEvery }

// watched is a row whose beat is watched.
type watched struct {
	incarnation string
	beat        int64
	since       time.Time // when this process first saw that beat
}

// join claims the row. It watches a row that may be of a server that lives, until its beat has moved or counts as gone.
func (n *Node) join(ctx context.Context) error {
	for seen := (watched{}); ; {
		row, err := n.claim(ctx, seen)
		switch {
		case err != nil || row == nil:
			return err
		case seen.incarnation == "":
			seen = watched{row.Incarnation, row.Beat, time.Now()}
			n.log.Info("a server with this one's id did not end in order, or still runs; its beat is watched", "node", row.Name,
				"address", row.Address, "atMost", n.goneAfter())
		case seen.beat != row.Beat || seen.incarnation != row.Incarnation:
			return n.refusal(*row)
		}
		select {
		case <-time.After(n.goneAfter() / 30):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// claim makes the row, unless there is one that may be of a server that lives: then it returns that and changes nothing. The transaction
// is SERIALIZABLE and reads the row, so that of two servers that claim it at the same moment one sees the other.
func (n *Node) claim(ctx context.Context, seen watched) (hinders *store.Node, err error) {
	err = n.store.Write(ctx, func(q *store.Queries) error {
		hinders = nil
		at, err := q.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		before, err := q.GetNode(ctx, n.id)
		if err == nil && n.mayLive(before, at, seen) {
			hinders = &before
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNoRow) {
			return err
		}
		authority, err := openAuthority(ctx, q, n.store)
		if err != nil {
			return err
		}
		n.links = newLinks(n.id, authority)
		if err := q.ClaimNode(ctx, store.ClaimNodeParams{ID: n.id, Name: n.cfg.Name, Address: n.cfg.Address, Version: n.cfg.Version,
			Incarnation: n.incarnation, Capacity: int64(n.cfg.Capacity), Labels: labelsText(n.cfg.Labels),
			Schema: n.store.Schema()}); err != nil {
			return err
		}
		if err := takeAgain(ctx, q, n.id); err != nil { // the last process was killed before it could
			return err
		}
		row, err := q.GetNode(ctx, n.id)
		n.draining = row.Draining
		return err
	})
	return hinders, err
}

// mayLive reports whether the server of a row may live. It does not if it ended in order, if its beat is old by the database's clock, or
// if this process has watched the beat stand still. at is the database's time in milliseconds.
func (n *Node) mayLive(row store.Node, at int64, seen watched) bool {
	if row.Stopped || time.Duration(at-row.BeatAt)*time.Millisecond >= n.goneAfter() {
		return false
	}
	same := seen.beat == row.Beat && seen.incarnation == row.Incarnation
	return !same || time.Since(seen.since) < n.goneAfter()
}

// refusal says which server lives.
func (n *Node) refusal(row store.Node) error {
	return fmt.Errorf("%w (%s at %s) uses the id of this one: one of the data folders is a copy of the other. Stop one server, delete %s, "+
		"and start it again", ErrTaken, row.Name, row.Address, filepath.Join(n.cfg.Data, fileName))
}

// keep moves the beat until ctx ends.
func (n *Node) keep(ctx context.Context) {
	defer close(n.done)
	tick := time.NewTicker(n.cfg.BeatEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-tick.C:
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		err := n.moveBeat(ctx)
		if n.Fault() != nil || ctx.Err() != nil {
			return
		}
		if err == nil {
			n.awaitRows(ctx) // so that they are known when the database does not answer
		}
		if failed := err != nil; failed != failing {
			failing = failed
			if failed {
				n.log.Warn("the beat of this server does not reach the database; others take it for gone", "cause", err)
			} else {
				n.log.Info("the beat of this server reaches the database again")
			}
		}
	}
}

// Report writes at once what the beat tells of this server, after its browsers have changed. If that fails, the next beat tells it.
func (n *Node) Report(ctx context.Context) {
	if n.store == nil || n.Fault() != nil {
		return
	}
	if err := n.moveBeat(ctx); err != nil {
		n.log.Warn("other servers learn of this one's browsers with its next beat", "cause", err)
	}
}

// moveBeat moves the beat and learns whether the node is draining, in one statement.
func (n *Node) moveBeat(ctx context.Context) error {
	running, browsers := n.report(ctx)
	pressure := n.pressure()
	draining, gone := false, false
	var other store.Node
	err := n.store.Write(ctx, func(q *store.Queries) (err error) {
		gone, other = false, store.Node{}
		draining, err = q.BeatNode(ctx, store.BeatNodeParams{ID: n.id, Incarnation: n.incarnation, Running: running, Browsers: browsers,
			Pressure: pressure})
		if !errors.Is(err, store.ErrNoRow) {
			return err
		}
		gone = true
		if other, err = q.GetNode(ctx, n.id); errors.Is(err, store.ErrNoRow) {
			return nil
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case gone && other.ID == "":
		n.setFault(removed())
	case gone:
		n.setFault(Taken(other.Name, other.Address))
	default:
		n.setDraining(draining)
	}
	return nil
}

// Leave records that the server ended in order, so that the next one need not watch its beat. A nil node has nothing to leave.
func (n *Node) Leave() {
	if n == nil || n.store == nil {
		return
	}
	n.cancel()
	n.links.close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-n.done
		running, _ := n.count()
		ctx := context.Background()
		err := n.store.Write(ctx, func(q *store.Queries) error {
			own, err := q.StopNode(ctx, store.StopNodeParams{ID: n.id, Incarnation: n.incarnation, Running: running})
			if err != nil || own == 0 {
				return err
			}
			return takeAgain(ctx, q, n.id)
		})
		if err != nil {
			n.log.Warn("the database does not know that this server has ended; the next one waits for a while", "cause", err)
		}
	}()
	select {
	case <-ended:
	case <-time.After(leaveTime):
	}
}
