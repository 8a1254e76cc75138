package pool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"warren/events"
	"warren/proxy"
)

// CheckMany checks proxies, many at once, and gives each result to each as it comes, from several goroutines. Workspaces take turns,
// also with those of other callers. It returns when all are done, or soon after ctx has ended; with an error when a result could not be
// kept: then no further check begins.
func (p *Pool) CheckMany(ctx context.Context, all []Proxy, each func(*Check)) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	defer context.AfterFunc(p.ctx, func() { giveUp(context.Canceled) })()
	of := map[string][]Proxy{}
	for _, px := range all {
		of[px.WorkspaceID] = append(of[px.WorkspaceID], px)
	}
	var wg sync.WaitGroup
	for workspace, list := range of {
		wg.Go(func() { p.checkWorkspace(ctx, giveUp, workspace, list, each) })
	}
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// checkWorkspace is CheckMany for proxies of one workspace.
func (p *Pool) checkWorkspace(ctx context.Context, giveUp context.CancelCauseFunc, workspace string, list []Proxy, each func(*Check)) {
	var alive, dead atomic.Int64
	p.limiter.Run(ctx, workspace, len(list), func(i int) {
		c, err := p.check(ctx, list[i], true)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			giveUp(err)
			return
		case c.OK:
			alive.Add(1)
		default:
			dead.Add(1)
		}
		each(c)
	})
	p.events.Publish(events.Event{Type: "proxy.all_checked", Workspace: workspace, Data: map[string]any{"alive": alive.Load(), "dead": dead.Load()}})
}

// filesPerCheck is how many connections a place for a check may come to: four times as many checks may wait, each may try twice, and the
// server has others.
const filesPerCheck = 10

// checksAtOnce is how many proxies are checked at once: as asked for (0: the default), or fewer where that would leave no connections for
// others. A check that finds none left would call a proxy dead that is not.
func checksAtOnce(wanted, files int) int {
	if wanted == 0 {
		wanted = proxy.DefaultSlots
	}
	if files > 0 {
		wanted = min(wanted, max(1, files/filesPerCheck))
	}
	return wanted
}
