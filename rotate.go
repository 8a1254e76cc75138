package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"warren/proxy"
	"warren/shim"
	"warren/store"
)

// This file makes a proxy change its exit: it calls the proxy's rotateUrl, waits, and looks whether the exit is another.

// rotateJSON is what came of it.
type rotateJSON struct {
	ID         string     `json:"id"`
	Changed    bool       `json:"changed" doc:"Whether the exit is another than before."`
	Before     *string    `json:"before" doc:"The exit before; null when the proxy did not work then." example:"203.0.113.7"`
	ExitIP     *string    `json:"exitIp" doc:"The exit now; null when the proxy does not work." example:"203.0.113.8"`
	Check      *checkJSON `json:"check" doc:"The last check, which is kept."`
	DurationMs int64      `json:"durationMs"`
}

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

func (s *server) rotateProxy(ctx context.Context, in *struct {
	ProxyPath
	Body *noInput `required:"false"`
}) (*struct{ Body rotateJSON }, error) {
	start := time.Now()
	row, err := s.proxyRow(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if row.RotateURL == "" {
		return nil, noRotateURL()
	}
	value, err := s.open(row)
	if err != nil {
		return nil, err
	}
	if err := s.beginRotation(ctx, row); err != nil {
		return nil, err
	}
	p := probed{id: row.ID, workspace: row.WorkspaceID, revision: row.Revision, value: value}
	before, err := s.exitBefore(ctx, row, p)
	if err != nil {
		return nil, err
	}
	address, err := s.store.RotateURL(row)
	if err != nil {
		return nil, err
	}
	if err := s.callRotateURL(ctx, address); err != nil {
		return nil, err
	}
	c, err := s.awaitExit(ctx, p, before, start.Add(s.cfg.RotateTimeout))
	if err != nil {
		return nil, err
	}
	out := rotateJSON{ID: row.ID, Before: before, ExitIP: c.ExitIP, Check: c, DurationMs: time.Since(start).Milliseconds()}
	if out.Changed = c.ExitIP != nil && (before == nil || *before != *c.ExitIP); out.Changed {
		s.exitMoved(context.WithoutCancel(ctx), row.WorkspaceID, row.ID)
	}
	return &struct{ Body rotateJSON }{out}, nil
}

// beginRotation refuses one that comes too soon after the last, which may still be under way.
func (s *server) beginRotation(ctx context.Context, row store.Proxy) error {
	at := now()
	var n int64
	err := s.store.Write(ctx, func(q *store.Queries) (err error) {
		n, err = q.BeginProxyRotation(ctx, store.BeginProxyRotationParams{ID: row.ID, Now: at, Before: at - s.cfg.RotateEvery.Milliseconds(), Workspaces: callerOf(ctx).filter})
		return err
	})
	if err != nil || n > 0 {
		return err
	}
	again, err := s.proxyRow(ctx, row.ID)
	if err != nil {
		return err
	}
	left := time.Duration(again.RotatedAt+s.cfg.RotateEvery.Milliseconds()-at) * time.Millisecond
	return rotatedLately(s.cfg.RotateEvery, left)
}

// exitBefore is the exit now: as a good check of the last minutes found it, else by a check; nil when the proxy does not work.
func (s *server) exitBefore(ctx context.Context, row store.Proxy, p probed) (*string, error) {
	if c := recentCheck(row); c != nil {
		return c.ExitIP, nil
	}
	c, err := s.runs.checkOne(ctx, p)
	if err != nil {
		return nil, err
	}
	return c.ExitIP, nil
}

// callRotateURL calls the address. It goes out directly, from this machine, as its seller expects; where it may not lead, proxy.NewClient says.
func (s *server) callRotateURL(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return rotateFailed("cannot be read")
	}
	if s.isOwn(net.JoinHostPort(u.Hostname(), u.Port())) && isHere(u.Hostname()) {
		return rotateFailed("is this server's own")
	}
	rq, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return rotateFailed("cannot be called")
	}
	rq.Header.Set("User-Agent", "warren")
	res, err := s.outward().Do(rq)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return s.rotateUnanswered(ctx, u.Host, err)
	}
	defer res.Body.Close()
	io.Copy(io.Discard, io.LimitReader(res.Body, callBytes)) //nolint:errcheck // what it says is not needed
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return rotateFailed(fmt.Sprintf("answered with HTTP status %d", res.StatusCode))
	}
	return nil
}

// rotateUnanswered says why nobody answered, and logs it: of the address its host alone, for the rest is its seller's secret. What net/http
// says of a call repeats the address, and may repeat what a redirect had.
func (s *server) rotateUnanswered(ctx context.Context, host string, err error) *problem {
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
	s.log.Warn("a rotateUrl was called in vain", "request", requestID(ctx), "host", host, "cause", why)
	return rotateFailed(how)
}

// isHere says whether a host is written as this machine or another by its address, and not by a name that may be anybody's.
func isHere(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost"
}

// outward is the client for addresses that users of the API name.
func (s *server) outward() *http.Client {
	return proxy.NewClient(proxy.Policy{AllowPrivate: s.cfg.allowPrivate(), DebugPorts: shim.DebugPorts(s.runs.dir)}, nil, callTime)
}

func noRotateURL() *problem {
	return conflict("no_rotate_url", "The proxy has no rotateUrl: set the address by which its seller makes it change its exit.")
}

func rotatedLately(every, left time.Duration) *problem {
	return problemFor(http.StatusTooManyRequests, "rate_limited", fmt.Sprintf("The proxy was made to change its exit less than %v ago (--rotate-every). Try again later.", every)).
		header("Retry-After", strconv.Itoa(int(max(1, left.Seconds()+1))))
}

func rotateFailed(how string) *problem {
	return problemFor(http.StatusBadGateway, "rotate_failed", "The proxy's exit was not changed: its rotateUrl "+how+".")
}

// awaitExit looks until the exit is another than before, or until end. What fails meanwhile is no word on the proxy, which may be between
// two exits: only the last look is kept.
func (s *server) awaitExit(ctx context.Context, p probed, before *string, end time.Time) (*checkJSON, error) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		res := s.checker.Check(ctx, p.value)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		changed := res.OK && (before == nil || res.ExitIP != *before)
		left := time.Until(end)
		if changed || left <= 0 {
			return s.runs.keepCheck(context.WithoutCancel(ctx), p, res)
		}
		select {
		case <-time.After(min(pause, left)):
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.runs.ctx.Done():
			return nil, stoppingProblem()
		}
	}
}
