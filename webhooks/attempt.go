package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"warren/proxy"
)

const (
	// attemptTime limits an attempt, its answer included.
	attemptTime = 20 * time.Second
	// maxAnswer is how many bytes of an answer are read. shownAnswer is how many characters of it are kept.
	maxAnswer   = 64 << 10
	shownAnswer = 300
	// idleTime is how long a connection to an endpoint is kept for the next delivery.
	idleTime = 30 * time.Second
	// maxConnections is how many are kept for one endpoint.
	maxConnections = roomQuick
)

// Attempt is one attempt to deliver, as stored and answered.
type Attempt struct {
	At         time.Time     `json:"at,format:'2006-01-02T15:04:05.000Z07:00'" doc:"When it began." example:"2026-11-21T14:06:00.000Z"`
	DurationMs int64         `json:"durationMs"`
	Status     *int          `json:"status" doc:"The HTTP status of the answer; null: there was none." example:"204"`
	Error      *AttemptError `json:"error" doc:"Why it failed; null: it was taken."`
	Answer     string        `json:"answer" doc:"How the answer's body begins, at most 300 characters, without control characters."`
}

// AttemptError is why an attempt failed.
type AttemptError struct {
	Code    string `json:"code" enum:"blocked_address,dns_failed,connection_refused,connection_closed,host_unreachable,timed_out,tls_failed,bad_answer,redirected,gone,bad_status" doc:"For programs."`
	Message string `json:"message" doc:"What happened, and what to do."`
}

// message is what is sent. Its id is the same over all attempts.
type message struct{ id, body string }

// newClient returns the client of all attempts. It follows no redirect and uses no proxy. Each address is judged when it is dialled.
func newClient(cfg Config) *http.Client {
	c := proxy.NewClient(cfg.Policy, cfg.Roots, attemptTime)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t := c.Transport.(*http.Transport)
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		host, port, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil || cfg.Own.Is(host, port) { // nothing was sent yet
			return nil, errors.Join(err, conn.Close(), &proxy.Error{Stage: proxy.StageConnect, Code: proxy.BlockedAddress,
				Message: "the address is this server's own"})
		}
		return conn, nil
	}
	t.DisableKeepAlives, t.DisableCompression = false, true
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.IdleConnTimeout = 10*maxConnections, maxConnections, idleTime
	return c
}

// attempt sends a message once. pause is how long the endpoint asks to be left alone.
func (s *Sender) attempt(ctx context.Context, h *hook, m message) (a Attempt, pause time.Duration) {
	start := time.Now()
	a = Attempt{At: instant(start)}
	res, err := s.post(ctx, h, m, start)
	if err == nil {
		a.Status = &res.StatusCode
		pause = retryAfter(res.Header.Get("Retry-After"), start)
		// The status decides, even if the rest of the answer does not come.
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) //nolint:errcheck // what came is enough
		res.Body.Close()
		a.Answer = harmless(string(text))
	}
	a.DurationMs, a.Error = time.Since(start).Milliseconds(), s.fault(a.Status, err)
	return a, pause
}

func (s *Sender) post(ctx context.Context, h *hook, m message, at time.Time) (*http.Response, error) {
	rq, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(m.body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "User-Agent": "warren", "webhook-id": m.id,
		"webhook-timestamp": strconv.FormatInt(at.Unix(), 10), "webhook-signature": h.secrets.sign(m.id, at, m.body)} {
		rq.Header.Set(name, value)
	}
	return s.client.Do(rq)
}

// fault says why an attempt failed; nil: it did not. Errors of net/http repeat the address, which may be secret, so they are not passed on.
func (s *Sender) fault(status *int, err error) *AttemptError {
	switch {
	case err != nil:
		return s.noAnswer(err)
	case *status >= 200 && *status < 300:
		return nil
	case *status >= 300 && *status < 400:
		return &AttemptError{"redirected",
			"The endpoint answered with a redirect, which is not followed. Enter the address that it leads to."}
	case *status == http.StatusGone:
		return &AttemptError{"gone", "The endpoint answered 410, which turns the webhook off. Turn it on again when the endpoint is back."}
	}
	return &AttemptError{"bad_status", "The endpoint answered with the HTTP status " + strconv.Itoa(*status) + ". It must answer 2xx."}
}

func (s *Sender) noAnswer(err error) *AttemptError {
	var fault *proxy.Error
	var certificate *tls.CertificateVerificationError
	var slow net.Error
	switch {
	case errors.As(err, &fault) && fault.Code == proxy.BlockedAddress && !s.cfg.Policy.AllowPrivate:
		return &AttemptError{string(fault.Code), privateAddress}
	case errors.As(err, &fault) && fault.Code == proxy.BlockedAddress:
		return &AttemptError{string(fault.Code), "The name leads to an address where no webhook may lead. Choose another one."}
	case errors.As(err, &fault):
		return &AttemptError{string(fault.Code), "The endpoint did not answer: " + fault.Message + "."}
	case errors.As(err, &certificate):
		return &AttemptError{"tls_failed", "The endpoint's certificate cannot be verified. Renew it, or check the address."}
	case errors.As(err, &slow) && slow.Timeout():
		return &AttemptError{"timed_out", "The endpoint did not answer within 20 seconds. Let it answer first and work afterwards."}
	}
	return &AttemptError{"bad_answer", "The endpoint closed the connection, or did not answer with HTTP. Check the address and its scheme."}
}

// maxPause is the longest pause that an endpoint can ask for.
const maxPause = 24 * time.Hour

// retryAfter reads the header Retry-After: seconds or a date (RFC 9110, 10.2.3). It returns 0 for none, at most maxPause.
func retryAfter(text string, now time.Time) time.Duration {
	var pause time.Duration
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		pause = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		pause = at.Sub(now)
	}
	return min(max(0, pause), maxPause)
}

// harmless returns how a text begins, without what could harm a terminal or a page: control characters, and those that turn the
// direction of text.
func harmless(text string) string {
	out, n := strings.Builder{}, 0
	for _, r := range strings.ToValidUTF8(text, "") {
		if r == '\n' || r == '\t' {
			r = ' '
		}
		if !unicode.IsPrint(r) {
			continue
		}
		if n++; n > shownAnswer {
			out.WriteRune('…')
			break
		}
		out.WriteRune(r)
	}
	return strings.TrimSpace(out.String())
}
