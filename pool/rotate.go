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

// rotateCallTime limits the call of a rotateUrl. maxRotateAnswer is how many bytes of its answer are read.
const (
	rotateCallTime  = 30 * time.Second
	maxRotateAnswer = 64 << 10
)

// The pauses between two checks for a new exit. The first check is immediate, then the pauses double.
const (
	minExitPause = 500 * time.Millisecond
	maxExitPause = 5 * time.Second
)

// Rotation is the result of a rotation.
type Rotation struct {
	Workspace string
	Before    *string // the former exit IP; nil if the proxy did not work
	Check     *Check  // the last check, which is saved
	Changed   bool    // whether the exit is new
}

// Rotate makes a proxy change its exit: it calls the proxy's rotateUrl and waits until a check finds a new exit.
func (p *Pool) Rotate(ctx context.Context, s store.Scope, id string) (*Rotation, error) {
	r, err := p.rotate(ctx, s, id)
	p.tally.rotation(r, err)
	return r, err
}

func (p *Pool) rotate(ctx context.Context, s store.Scope, id string) (*Rotation, error) {
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

// beginRotation refuses a rotation that follows the last one too soon, because that may be still in progress.
func (p *Pool) beginRotation(ctx context.Context, s store.Scope, px Proxy) error {
	begun, err := p.now(ctx)
	if err != nil {
		return err
	}
	at := begun.UnixMilli()
	var n int64
	err = p.store.Write(ctx, func(q *store.Queries) (err error) {
		n, err = q.BeginProxyRotation(ctx, store.BeginProxyRotationParams{ID: px.ID, Now: at,
			Before: at - p.cfg.RotateEvery.Milliseconds(), Workspaces: s.Filter()})
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

// exitBefore returns the current exit IP, from a recent check or a new one; nil if the proxy does not work.
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

// callRotateURL calls the rotateUrl directly from this machine, as proxy sellers expect. proxy.NewClient blocks
// forbidden targets.
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
	res, err := proxy.NewClient(p.checker.Policy, nil, rotateCallTime).Do(rq)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return p.rotateUnanswered(u.Host, err)
	}
	defer res.Body.Close()
	io.Copy(io.Discard, io.LimitReader(res.Body, maxRotateAnswer)) //nolint:errcheck // the body is not needed
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return RotateFailed(fmt.Sprintf("answered with HTTP status %d", res.StatusCode))
	}
	return nil
}

// rotateUnanswered returns and logs why a call failed. The log gets only the host, because the rest of the address is
// secret. Errors of net/http repeat the address, so they are not logged.
func (p *Pool) rotateUnanswered(host string, err error) *problem.Error {
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
	p.log.Warn("a call of a rotateUrl failed", "host", host, "cause", why)
	return RotateFailed(how)
}

// NoRotateURL is the error for a rotation of a proxy without a rotateUrl.
func NoRotateURL() *problem.Error {
	return problem.New(problem.Conflict, "no_rotate_url",
		"The proxy has no rotateUrl: set the address by which its seller makes it change its exit.")
}

// RotatedLately is the error for a rotation less than every after the last one. left is the remaining time.
func RotatedLately(every, left time.Duration) *problem.Error {
	return problem.New(problem.TooMany, "rate_limited",
		fmt.Sprintf("The proxy was made to change its exit less than %v ago (--rotate-every). Try again later.", every)).
		After(max(time.Second, left.Truncate(time.Second)+time.Second))
}

// RotateFailed is the error for a rotateUrl that could not be called. how completes "its rotateUrl …".
func RotateFailed(how string) *problem.Error {
	return problem.New(problem.Upstream, "rotate_failed", "The proxy's exit was not changed: its rotateUrl "+how+".")
}

// awaitExit checks the proxy until its exit is new, or until end. Failed checks mean little while the proxy changes its
// exit, so only the last check is saved.
func (p *Pool) awaitExit(ctx context.Context, px Proxy, before *string, end time.Time) (*Check, error) {
	for pause := minExitPause; ; pause = min(2*pause, maxExitPause) {
		res := p.checker.Check(ctx, px.Address)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		changed := res.OK && (before == nil || res.ExitIP != *before)
		left := time.Until(end)
		if changed || left <= 0 {
			return p.saveCheck(context.WithoutCancel(ctx), px, false, res)
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
