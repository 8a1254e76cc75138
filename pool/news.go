package pool

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
)

// Data of the pool's events.

// exitChanged is the type of the event that tells of a move.
const exitChanged = "proxy.exit_changed"

// checkedEvent is the data of proxy.checked.
type checkedEvent struct {
	ID     string `json:"id"`
	OK     bool   `json:"ok"`
	Status string `json:"status"`
}

// diedEvent is the data of proxy.died.
type diedEvent struct {
	Error *CheckError `json:"error"`
	ID    string      `json:"id"`
}

// returnedEvent is the data of proxy.returned.
type returnedEvent struct {
	ExitIP *string `json:"exitIp"`
	ID     string  `json:"id"`
}

// movedEvent is the data of proxy.exit_changed. Before is the last exit IP.
type movedEvent struct {
	Before string  `json:"before"`
	ExitIP *string `json:"exitIp"`
	ID     string  `json:"id"`
}

// allCheckedEvent is the data of proxy.all_checked: how many proxies were alive and dead.
type allCheckedEvent struct {
	Alive int64 `json:"alive"`
	Dead  int64 `json:"dead"`
}

// followPause is the pause before the events of a log are followed again that has dropped its subscriber.
const followPause = time.Second

// FollowOthers takes the moves that other servers of the database have found, until ctx ends. Where the server has a database of its own,
// there are none.
func (p *Pool) FollowOthers(ctx context.Context) {
	if !p.store.Shared() {
		return
	}
	for ctx.Err() == nil {
		sub := p.events.Subscribe(func(_, key string) bool { return key == "" }, "")
		p.follow(ctx, sub)
		sub.Close()
		select {
		case <-time.After(followPause):
		case <-ctx.Done():
		}
	}
}

// follow takes the moves of a subscription until it or ctx ends.
func (p *Pool) follow(ctx context.Context, sub *events.Subscription) {
	for {
		select {
		case e, open := <-sub.C:
			if !open {
				return
			}
			if e.Type != exitChanged || !e.Elsewhere() { // its own moves it has taken at once
				continue
			}
			var event struct {
				Data struct {
					ID string `json:"id"`
				} `json:"data"`
			}
			if err := json.Unmarshal(e.Text(), &event); err != nil {
				p.log.Error("an event of another server cannot be read", "type", e.Type, "cause", err)
				continue
			}
			p.moves.add(Move{e.Workspace(), event.Data.ID})
		case <-ctx.Done():
			return
		}
	}
}
