package proxy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Defaults of a Checker's fields.
const (
	DefaultCheckTimeout  = 10 * time.Second
	DefaultCheckMaxBytes = 64 << 10 // bytes
)

// answerHeadBudget is how many bytes a check URL's answer may have besides its body.
const answerHeadBudget = 16 << 10

// Checker probes proxies with the Dialer that the relay uses, by a URL that answers with the caller's address.
// A Checker is safe for concurrent use and must not be copied after the first check.
type Checker struct {
	// URLs are http or https and tried in order. The operator names them, so their host:port is exempt from Policy.
	URLs []string
	// URLs6 are requested after a good check for the exit over IPv6. Their hosts should have no IPv4 address. None: it stays unknown.
	URLs6 []string
	// PlainURL is an http URL, requested after a good check over https. "" means the first http one of URLs, if there is one.
	PlainURL string
	// UDPURL is "stun://host:port", requested through a SOCKS5 proxy's UDP after a good check. "" means that UDP is not checked.
	UDPURL   string
	Timeout  time.Duration // one absolute deadline for the whole check; 0 means DefaultCheckTimeout
	MaxBytes int64         // of an answer's body; 0 means DefaultCheckMaxBytes
	Policy   Policy
	Geo      func(netip.Addr) (Place, bool) // completes what the answer does not tell; may be nil
	RootCAs  *x509.CertPool                 // trusted for https upstreams and URLs; nil means the system's

	mu       sync.Mutex
	requests map[string]*checkRequest // by URL
	caches   dialCaches
	readers  sync.Pool // *bufio.Reader
}

// Result is the outcome of one check, of a proxy that does not work too.
type Result struct {
	OK        bool
	ExitIP    string     // the address that sites see
	IPVersion int        // 4 or 6; 0 without an exit
	ExitIPv6  string     // the address that sites see over IPv6; "" when there is none or it was not checked
	UDP       *UDPResult // nil when it was not checked
	PlainHTTP *bool      // whether a site at http:// is reached; nil when it was not checked
	Place     Place
	Source    string        // of the country: "answer", "geoip", or "" when it is unknown
	Locale    string        // the country's likely language as a BCP 47 tag; "" when unknown
	Latency   time.Duration // Connect + TLS + Handshake + FirstByte of Timings, without the look-up
	Timings   Timings
	RemoteDNS bool      // the upstream resolves names; false without an upstream, and for SOCKS4 while no name was tried
	CheckedAt time.Time // start of the check
	Duration  time.Duration
	Err       *Error // nil when OK
}

// Check probes a proxy. When ctx ends, the Result's error has the code TimedOut.
func (c *Checker) Check(ctx context.Context, p Proxy) Result { return c.probe(ctx, &p) }

// CheckDirect probes without a proxy. It finds this machine's own exit.
func (c *Checker) CheckDirect(ctx context.Context) Result { return c.probe(ctx, nil) }

// probe tries the URLs in order. A fault of the proxy itself ends the check. Each URL but the last may take half of the time that is
// left. The first fault is the one that is reported.
func (c *Checker) probe(ctx context.Context, up *Proxy) Result {
	start := time.Now()
	end := start.Add(cmp.Or(c.Timeout, DefaultCheckTimeout))
	var first *Result
	for i, u := range c.URLs {
		part := time.Until(end)
		if i < len(c.URLs)-1 {
			part /= 2
		}
		r := c.probeURL(ctx, up, u, part)
		if up != nil && r.OK && isPlain(u) {
			r.PlainHTTP = plainOf(r)
		}
		if r.OK || first == nil {
			first = &r
		}
		if r.OK || part <= 0 || ctx.Err() != nil || isProxyFault(r.Err, up) {
			break
		}
	}
	if first == nil {
		first = &Result{Err: &Error{StageResponse, BadResponse, "there is no check URL", nil}}
	}
	if first.OK {
		c.probeExtras(ctx, up, first, end)
	}
	first.CheckedAt, first.Duration = start, time.Since(start)
	return *first
}

// plainOf returns whether a probe reached a plain site; nil when the proxy did not say so, for example after a timeout.
func plainOf(r Result) *bool {
	if !r.OK && (r.Err.Stage != StageRequest || r.Err.Code == TimedOut) {
		return nil
	}
	return &r.OK
}

// probeExtras finds out what else a working proxy can do. It never makes the check fail.
func (c *Checker) probeExtras(ctx context.Context, up *Proxy, r *Result, end time.Time) {
	if r.IPVersion == 6 {
		r.ExitIPv6 = r.ExitIP
	}
	if plain := c.plainURL(); up != nil && r.PlainHTTP == nil && plain != "" && time.Until(end) > 0 {
		r.PlainHTTP = plainOf(c.probeURL(ctx, up, plain, time.Until(end)/2))
	}
	half := time.Now().Add(time.Until(end) / 2)
	for _, u := range c.URLs6 {
		if r.ExitIPv6 != "" || time.Until(half) <= 0 || ctx.Err() != nil {
			break
		}
		if r6 := c.probeURL(ctx, up, u, time.Until(half)); r6.OK && r6.IPVersion == 6 {
			r.ExitIPv6 = r6.ExitIP
		}
	}
	if c.UDPURL != "" && up != nil && up.Normalize().Type == SOCKS5 {
		r.UDP = c.probeUDP(ctx, up.Normalize(), min(time.Until(end), udpTimeout))
	}
}

func isPlain(u string) bool { return strings.HasPrefix(strings.ToLower(u), "http:") }

// plainURL returns the URL of a plain site to request, or "".
func (c *Checker) plainURL() string {
	if i := slices.IndexFunc(c.URLs, isPlain); c.PlainURL == "" && i >= 0 {
		return c.URLs[i]
	}
	return c.PlainURL
}

// isProxyFault reports whether another URL would meet the same fault.
func isProxyFault(e *Error, up *Proxy) bool {
	if up == nil || e.Stage == StageRequest || e.Stage == StageResponse {
		return false
	}
	return e.Stage != StageTLS || up.Type == HTTPS
}

func (c *Checker) probeURL(ctx context.Context, up *Proxy, raw string, timeout time.Duration) (r Result) {
	q, err := c.request(raw)
	if err != nil {
		r.Err = &Error{StageResponse, BadResponse, "the check URL is not one of http or https", err}
		return r
	}
	d := &Dialer{Upstream: up, Policy: q.policy, Timeout: timeout, RootCAs: c.RootCAs,
		shared: &c.caches, keepAlive: -1} // no check lives long enough for a keep-alive
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	explain := d.startTLSProbe(ctx, up, timeout)
	conn, times, fault := d.dial(ctx, "tcp", q.address)
	r.Timings = times
	if fault = explain(fault); fault != nil {
		r.Err = fault
		return r
	}
	defer rawConn(conn).Close()
	var body []byte
	r.Err = runCancellable(ctx, conn, func() (fault *Error) {
		body, r.Timings.FirstByte, fault = c.fetch(conn, q)
		return fault
	})
	exit, place, ok := parseAnswer(body)
	if r.Err == nil && !ok {
		r.Err = &Error{StageResponse, BadResponse, "the check URL's answer has no IP address", nil}
	}
	if a, ok := conn.(*absoluteConn); ok && r.Err != nil { // the request failed too: the fault of the tunnel says more
		r.Err = a.tunnelFault
	}
	if r.Err != nil {
		return r
	}
	c.setExit(&r, exit, place)
	r.RemoteDNS = up != nil && (up.Type != SOCKS4 || q.byName)
	r.Latency = times.Connect + times.TLS + times.Handshake + r.Timings.FirstByte
	r.OK = true
	return r
}

// checkRequest is the request to one check URL. It is prepared once.
type checkRequest struct {
	url     *url.URL
	address string // "host:port"
	byName  bool   // the host is a name
	policy  Policy // the Checker's, with address exempt
	raw     []byte // the request as it is sent
	request *http.Request
}

// request returns the request to a URL.
func (c *Checker) request(raw string) (*checkRequest, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.requests[raw]; q != nil {
		return q, nil
	}
	u, address, err := splitURL(raw)
	if err != nil {
		return nil, err
	}
	u.User = nil
	q := &checkRequest{url: u, address: address, policy: c.Policy}
	q.policy.Exempt = append(slices.Clone(c.Policy.Exempt), address)
	_, notAddress := netip.ParseAddr(u.Hostname())
	q.byName = notAddress != nil
	q.request = &http.Request{Method: "GET", URL: u, Host: u.Host, Close: true, Header: http.Header{
		"User-Agent":      {"warren"},
		"Accept":          {"application/json, text/plain;q=0.9"},
		"Accept-Encoding": {"identity"},
	}}
	var text bytes.Buffer
	if err := q.request.Write(&text); err != nil {
		return nil, err
	}
	q.raw = text.Bytes()
	if c.requests == nil {
		c.requests = map[string]*checkRequest{}
	}
	c.requests[raw] = q
	return q, nil
}

func splitURL(raw string) (*url.URL, string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, "", err
	}
	port, known := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if !known || u.Hostname() == "" {
		return nil, "", fmt.Errorf("scheme %q", u.Scheme)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	return u, net.JoinHostPort(u.Hostname(), port), nil
}

// fetch sends q on a connection to its host, and returns the body of an answer with status 200. Redirects are not followed: the Policy
// has not judged where they lead.
func (c *Checker) fetch(conn net.Conn, q *checkRequest) (body []byte, firstByte time.Duration, fault *Error) {
	start := time.Now()
	if q.url.Scheme == "https" {
		t, fault := startTLS(conn, q.url.Hostname(), c.RootCAs)
		if fault != nil {
			return nil, 0, fault
		}
		conn = t
	}
	if _, err := conn.Write(q.raw); err != nil {
		return nil, 0, asError(StageResponse, err)
	}
	limit := cmp.Or(c.MaxBytes, DefaultCheckMaxBytes)
	recorder := &readErrRecorder{Reader: conn}
	budget := &io.LimitedReader{R: recorder, N: limit + answerHeadBudget}
	in, _ := c.readers.Get().(*bufio.Reader)
	if in == nil {
		in = bufio.NewReader(nil)
	}
	in.Reset(budget)
	defer func() { in.Reset(nil); c.readers.Put(in) }()
	if _, err := in.Peek(1); err != nil {
		return nil, 0, asError(StageResponse, err)
	}
	firstByte = time.Since(start)
	body, fault = readAnswer(in, q.request, limit)
	switch {
	case fault != nil && budget.N <= 0:
		fault = answerTooLong()
	case fault != nil && fault.Err != nil && recorder.err != nil: // the answer broke off, and is not HTTP because of that
		fault = asError(StageResponse, recorder.err)
	}
	return body, firstByte, fault
}

// readErrRecorder records the error that ended a connection. A reader of lines returns half a line without it.
type readErrRecorder struct {
	io.Reader
	err error
}

func (w *readErrRecorder) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if err != nil {
		w.err = err
	}
	return n, err
}

func answerTooLong() *Error {
	return &Error{StageResponse, BadResponse, "the check URL's answer is too long", errBudget}
}

func readAnswer(in *bufio.Reader, rq *http.Request, limit int64) ([]byte, *Error) {
	for {
		resp, err := http.ReadResponse(in, rq)
		if err != nil {
			return nil, answerFault(err)
		}
		if resp.StatusCode < 200 { // an interim answer; the final one follows
			continue
		}
		if resp.StatusCode != http.StatusOK {
			return nil, &Error{StageResponse, BadResponse, fmt.Sprintf("the check URL answered with HTTP status %d", resp.StatusCode), nil}
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
		if err != nil {
			return nil, answerFault(err)
		}
		if int64(len(body)) > limit {
			return nil, answerTooLong()
		}
		return body, nil
	}
}

func answerFault(err error) *Error {
	if isTimeout(err) || isClosed(err) {
		return asError(StageResponse, err)
	}
	return &Error{StageResponse, BadResponse, "the check URL's answer is not HTTP", err}
}

// setExit sets the exit and its place. The answer's own place comes first. Geo completes it, unless the two disagree about the country.
// Then the tables complete what follows from the country.
func (c *Checker) setExit(r *Result, exit netip.Addr, place Place) {
	r.ExitIP, r.IPVersion = exit.String(), 4
	if exit.Is6() {
		r.IPVersion = 6
	}
	if place.Country != "" {
		r.Source = "answer"
	}
	if c.Geo != nil {
		if geo, ok := c.Geo(exit); ok && (place.Country == "" || place.Country == geo.Country) {
			if place.Country == "" && geo.Country != "" {
				r.Source = "geoip"
			}
			place = place.fillFrom(geo)
		}
	}
	r.Place = place.complete()
	r.Locale = localeOf(place.Country)
}
