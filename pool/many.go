package pool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"warren/events"
	"warren/proxy"
)

// CheckMany checks proxies concurrently. It calls each with every result as it arrives, from several goroutines.
// Workspaces take turns, including those of other callers.
//
// It returns when all checks are done, or soon after ctx ends. If a result cannot be saved, it starts no further check
// and returns the error.
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

// checkWorkspace checks the proxies of one workspace for CheckMany.
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
	p.events.Publish(events.Event{Type: "proxy.all_checked", Workspace: workspace, Data: allCheckedEvent{alive.Load(), dead.Load()}})
}

// filesPerCheck is how many file descriptors one concurrent check may need. Four times as many checks may wait, each may
// try twice, and the server has other connections.
const filesPerCheck = 10

// checksAtOnce returns how many proxies are checked concurrently. wanted is the configured number; 0: the default. files
// is the limit of file descriptors; 0: not known. A check without a free descriptor would report a good proxy as dead.
func checksAtOnce(wanted, files int) int {
	if wanted == 0 {
		wanted = proxy.DefaultSlots
	}
	if files > 0 {
		wanted = min(wanted, max(1, files/filesPerCheck))
	}
	return wanted
}
