package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"warren/problem"
	"warren/proxy"
	"warren/store"
)

// callTime is how long a rotateUrl may take to answer, and callBytes how much of its answer is read.
const (
	callTime  = 30 * time.Second
	callBytes = 64 << 10
)

// The first look whether the exit has changed comes at once; each further one waits longer.
const (
	firstLook = 500 * time.Millisecond
	lastLook  = 5 * time.Second
)

// Rotation is what came of a rotation.
type Rotation struct {
	Workspace string
	Before    *string // the exit before; nil when the proxy did not work then
	Check     *Check  // the last check, which is kept
	Changed   bool    // whether the exit is another than before
}

// Rotate makes a proxy change its exit: it calls the proxy's rotateUrl, waits, and looks whether the exit is another.
func (p *Pool) Rotate(ctx context.Context, s store.Scope, id string) (*Rotation, error) {
	start := time.Now()
	px, err := p.Get(ctx, s, id)
	if err != nil {
		return nil, err
	}
	if px.RotateURL == "" {
		return nil, NoRotateURL()
	}
	if err := px.Usable(); err != nil {
		return nil, err
	}
	if err := p.beginRotation(ctx, s, px); err != nil {
		return nil, err
	}
	before, err := p.exitBefore(ctx, px)
	if err != nil {
		return nil, err
	}
	address, err := p.store.RotateURL(px.Proxy)
	if err != nil {
		return nil, err
	}
	if err := p.callRotateURL(ctx, address); err != nil {
		return nil, err
	}
	c, err := p.awaitExit(ctx, px, before, start.Add(p.cfg.RotateTimeout))
	if err != nil {
		return nil, err
	}
	return &Rotation{px.WorkspaceID, before, c, c.ExitIP != nil && (before == nil || *before != *c.ExitIP)}, nil
}

// beginRotation refuses one that comes too soon after the last, which may still be under way.
func (p *Pool) beginRotation(ctx context.Context, s store.Scope, px Proxy) error {
	at := time.Now().UnixMilli()
	var n int64
	err := p.store.Write(ctx, func(q *store.Queries) (err error) {
		n, err = q.BeginProxyRotation(ctx, store.BeginProxyRotationParams{ID: px.ID, Now: at, Before: at - p.cfg.RotateEvery.Milliseconds(), Workspaces: s.Filter()})
		return err
	})
	if err != nil || n > 0 {
		return err
	}
	again, err := p.Get(ctx, s, px.ID)
	if err != nil {
		return err
	}
	left := time.Duration(again.RotatedAt+p.cfg.RotateEvery.Milliseconds()-at) * time.Millisecond
	return RotatedLately(p.cfg.RotateEvery, left)
}

// exitBefore is the exit now: as a good check of the last minutes found it, else by a check; nil when the proxy does not work.
func (p *Pool) exitBefore(ctx context.Context, px Proxy) (*string, error) {
	if c := px.Recent(); c != nil {
		return c.ExitIP, nil
	}
	c, err := p.Check(ctx, px)
	if err != nil {
		return nil, err
	}
	return c.ExitIP, nil
}

// callRotateURL calls the address. It goes out directly, from this machine, as its seller expects; where it may not lead, proxy.NewClient says.
func (p *Pool) callRotateURL(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return RotateFailed("cannot be read")
	}
	if p.cfg.Own.Leads(u.Hostname(), u.Port()) {
		return RotateFailed("is this server's own")
	}
	rq, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return RotateFailed("cannot be called")
	}
	rq.Header.Set("User-Agent", "warren")
	res, err := p.outward().Do(rq)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return p.rotateUnanswered(ctx, u.Host, err)
	}
	defer res.Body.Close()
	io.Copy(io.Discard, io.LimitReader(res.Body, callBytes)) //nolint:errcheck // what it says is not needed
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return RotateFailed(fmt.Sprintf("answered with HTTP status %d", res.StatusCode))
	}
	return nil
}

// rotateUnanswered says why nobody answered, and logs it: of the address its host alone, for the rest is its seller's secret. What net/http
// says of a call repeats the address, and may repeat what a redirect had.
func (p *Pool) rotateUnanswered(ctx context.Context, host string, err error) *problem.Error {
	how, why := "did not answer as it should", "no HTTP answer that could be followed"
	var fault *proxy.Error
	var certificate *tls.CertificateVerificationError
	var slow net.Error
	switch {
	case errors.As(err, &fault):
		how, why = "did not answer: "+fault.Message, fault.Error()
	case errors.As(err, &certificate):
		why = certificate.Error()
	case errors.As(err, &slow) && slow.Timeout():
		how, why = "did not answer in time", "no answer in time"
	}
	p.log.Warn("a rotateUrl was called in vain", "host", host, "cause", why)
	return RotateFailed(how)
}

// outward is the client for addresses that users of the API name.
func (p *Pool) outward() *http.Client {
	return proxy.NewClient(p.checker.Policy, nil, callTime)
}

func NoRotateURL() *problem.Error {
	return problem.New(problem.Conflict, "no_rotate_url", "The proxy has no rotateUrl: set the address by which its seller makes it change its exit.")
}

func RotatedLately(every, left time.Duration) *problem.Error {
	return problem.New(problem.TooMany, "rate_limited", fmt.Sprintf("The proxy was made to change its exit less than %v ago (--rotate-every). Try again later.", every)).
		After(max(time.Second, left.Truncate(time.Second)+time.Second))
}

func RotateFailed(how string) *problem.Error {
	return problem.New(problem.Upstream, "rotate_failed", "The proxy's exit was not changed: its rotateUrl "+how+".")
}

// awaitExit looks until the exit is another than before, or until end. What fails meanwhile is no word on the proxy, which may be between
// two exits: only the last look is kept.
func (p *Pool) awaitExit(ctx context.Context, px Proxy, before *string, end time.Time) (*Check, error) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		res := p.checker.Check(ctx, px.Address)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		changed := res.OK && (before == nil || res.ExitIP != *before)
		left := time.Until(end)
		if changed || left <= 0 {
			return p.keep(context.WithoutCancel(ctx), px, false, res)
		}
		select {
		case <-time.After(min(pause, left)):
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.ctx.Done():
			return nil, Stopping()
		}
	}
}
