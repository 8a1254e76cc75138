package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Reaches plain web sites through HTTP proxies that allow tunnels to port 443 only. Such a proxy takes requests to port 80 in absolute
// form (RFC 9112 section 3.2.2). The browser's bytes are read as HTTP/1.1, and net/http writes each request anew for the proxy.
// No byte is passed on as it came, so no request can hide in another.

const (
	plainPort     = "80"
	requestBudget = 256 << 10 // bytes of a request's head, and of an answer's
	continueAfter = time.Second
	noUpgradeText = "This proxy allows no tunnel to this port, and a WebSocket needs one.\n"
	otherHostText = "This connection leads to one host only, and the request names another.\n"
	badFormText   = "The request is not one that a browser makes of a web site.\n"
)

// isTunnelRefusal reports whether an HTTP proxy has refused CONNECT as such, and may still take requests in absolute form.
func isTunnelRefusal(fault *Error) bool {
	status, ok := errors.AsType[statusError](causeOf(fault))
	return ok && (status == http.StatusForbidden || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented)
}

// dialAbsoluteForm returns a connection that forwards the target's requests in absolute form. refused is the fault of the tunnel.
func (d *Dialer) dialAbsoluteForm(ctx context.Context, p *Proxy, t target, refused *Error, times *Timings) (net.Conn, *Error) {
	*times = Timings{}
	_, c, fault := d.openUpstream(ctx, p, times)
	if fault != nil {
		return nil, fault
	}
	requests, up := net.Pipe()
	answers, down := net.Pipe()
	life, cancel := context.WithCancel(context.Background())
	s := &requestForwarder{dialer: d, proxy: p, target: t, up: up, down: down, spare: c, ctx: life, cancel: cancel}
	s.limit = &io.LimitedReader{R: up}
	s.in = bufio.NewReader(s.limit)
	s.transport = &http.Transport{DialContext: s.dial, Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.Address()}),
		DisableCompression: true, MaxIdleConnsPerHost: 1, MaxResponseHeaderBytes: requestBudget, ExpectContinueTimeout: continueAfter}
	go s.serve()
	return &absoluteConn{Conn: answers, requests: requests, forwarder: s, cancel: cancel, upstream: c, tunnelFault: refused}, nil
}

// absoluteConn is the browser's end of a requestForwarder. Writes are requests, and reads are their answers.
type absoluteConn struct {
	net.Conn    // answers
	requests    net.Conn
	forwarder   *requestForwarder
	cancel      context.CancelFunc
	upstream    net.Conn // to the proxy, for its addresses
	tunnelFault *Error   // of the tunnel that the proxy refused
}

func (c *absoluteConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == io.EOF && c.forwarder.aborted.Load() {
		err = syscall.ECONNRESET
	}
	return n, err
}

func (c *absoluteConn) Write(b []byte) (int, error) { return c.requests.Write(b) }

// CloseWrite ends the requests.
func (c *absoluteConn) CloseWrite() error { return c.requests.Close() }

func (c *absoluteConn) Close() error {
	c.cancel()
	return errors.Join(c.requests.Close(), c.Conn.Close())
}

func (c *absoluteConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *absoluteConn) SetWriteDeadline(t time.Time) error { return c.requests.SetWriteDeadline(t) }

func (c *absoluteConn) LocalAddr() net.Addr { return c.upstream.LocalAddr() }

func (c *absoluteConn) RemoteAddr() net.Addr { return c.upstream.RemoteAddr() }

// requestForwarder reads the requests of one connection and answers them, one after another.
type requestForwarder struct {
	dialer    *Dialer
	proxy     *Proxy
	target    target
	ctx       context.Context  // ends with the connection
	cancel    func()           // cancels ctx
	monitor   *upstreamMonitor // set before the first request; nil without a route to monitor
	transport *http.Transport
	aborted   atomic.Bool // the connection ends in the middle of an exchange

	in       *bufio.Reader
	limit    *io.LimitedReader // in reads through it
	up, down net.Conn

	mu        sync.Mutex // guards what follows
	spare     net.Conn   // a connection to the proxy that is not used yet; nil when it is
	answering bool       // the final answer has begun, after which no interim one may follow
}

func (s *requestForwarder) serve() {
	defer s.transport.CloseIdleConnections()
	for s.forwardOne() {
	}
	s.down.Close()
	s.mu.Lock()
	if s.spare != nil {
		rawConn(s.spare).Close()
	}
	s.mu.Unlock()
	io.Copy(io.Discard, s.up) // further requests are drained: a failed write would reset the connection before the answer has arrived
	s.up.Close()
}

// dial returns the spare connection first, and then new ones.
func (s *requestForwarder) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	s.mu.Lock()
	c := s.spare
	s.spare = nil
	s.mu.Unlock()
	if c != nil {
		return newLateWriteErrConn(c), nil
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultDialTimeout)
	defer cancel()
	_, c, fault := s.dialer.openUpstream(ctx, s.proxy, new(Timings))
	if fault != nil {
		return nil, fault
	}
	return newLateWriteErrConn(c), nil
}

// lateWriteErrConn reports a failed write only when nothing more can be read. A proxy may answer before it has the whole body, and close.
// http.Transport gives up at the failed write, although the answer can be read.
type lateWriteErrConn struct {
	net.Conn
	finish   func()        // closes finished
	finished chan struct{} // closed when nothing more can be read
}

func newLateWriteErrConn(c net.Conn) *lateWriteErrConn {
	all := make(chan struct{})
	return &lateWriteErrConn{c, sync.OnceFunc(func() { close(all) }), all}
}

func (c *lateWriteErrConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.finish()
	}
	return n, err
}

func (c *lateWriteErrConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		<-c.finished
	}
	return n, err
}

func (c *lateWriteErrConn) Close() error {
	c.finish()
	return c.Conn.Close()
}

// upstreamMonitor monitors the upstream of a forwarder while other routes are left. That the upstream accepts connections proves nothing.
type upstreamMonitor struct {
	suspectAfter time.Duration                                // without an answer for so long the upstream is suspect; 0 never
	verify       func(ctx context.Context, why *Error) *Error // returns the upstream's own fault, if there is one
	report       func(began time.Time, fault *Error)          // reports the end of a request; a nil fault means an answer
}

// roundTrip sends one request. When its answer is late, the upstream is suspect; when the upstream does not work, the connection ends.
func (s *requestForwarder) roundTrip(out *http.Request) (*http.Response, error) {
	if s.monitor == nil {
		return s.transport.RoundTrip(out)
	}
	began, done := time.Now(), new(atomic.Bool)
	if s.monitor.suspectAfter > 0 {
		timer := time.AfterFunc(s.monitor.suspectAfter, func() {
			if s.suspect(began, nil) && !done.Swap(true) {
				s.cancel()
			}
		})
		defer timer.Stop()
	}
	resp, err := s.transport.RoundTrip(out)
	done.Store(true)
	switch {
	case err != nil:
		s.suspect(began, nil)
	case resp.StatusCode != http.StatusProxyAuthRequired: // a site may send this status too
		s.monitor.report(began, nil)
	}
	return resp, err
}

// suspect verifies the upstream, and reports its fault if there is one.
func (s *requestForwarder) suspect(began time.Time, why *Error) (failed bool) {
	if s.monitor == nil || s.monitor.suspectAfter == 0 || s.ctx.Err() != nil {
		return false
	}
	fault := s.monitor.verify(s.ctx, why)
	if fault == nil || s.ctx.Err() != nil {
		return false
	}
	s.monitor.report(began, fault)
	return true
}

// forwardOne reads a request and answers it. It reports whether another one may follow.
func (s *requestForwarder) forwardOne() (more bool) {
	s.limit.N = requestBudget
	rq, err := http.ReadRequest(s.in)
	s.limit.N = math.MaxInt64
	if err == io.EOF {
		return false
	}
	if err != nil {
		return s.abort()
	}
	if status, text := s.rejection(rq); status != 0 {
		return s.reject(status, text)
	}
	s.mu.Lock()
	s.answering = false
	s.mu.Unlock()
	body := &requestBody{ReadCloser: rq.Body, onFirstRead: s.sendContinue}
	if rq.Header.Get("Expect") == "" {
		body.onFirstRead = func() {}
	}
	resp, fault := s.send(rq, body)
	if fault != nil && fault.Stage == StageAuth {
		return s.reject(http.StatusBadGateway, "The proxy refuses the request: "+fault.Message+".\n")
	}
	if fault != nil {
		return s.abort()
	}
	defer resp.Body.Close()
	last, err := s.writeAnswer(rq, resp)
	if err != nil {
		return s.abort()
	}
	return !last && (rq.Body == http.NoBody || body.ended.Load())
}

func (s *requestForwarder) abort() (more bool) {
	s.aborted.Store(true)
	return false
}

// rejection returns the status and text with which a request is rejected. The status 0 means that it is forwarded.
func (s *requestForwarder) rejection(rq *http.Request) (status int, text string) {
	isUpgrade := func(item string) bool { return strings.EqualFold(item, "upgrade") }
	switch {
	case slices.ContainsFunc(listItems(rq.Header["Connection"]), isUpgrade) || rq.Header.Get("Upgrade") != "":
		return http.StatusNotImplemented, noUpgradeText
	case !strings.HasPrefix(rq.RequestURI, "/") || rq.Method == http.MethodConnect:
		return http.StatusBadRequest, badFormText
	case !s.matchesHost(rq.Host):
		return http.StatusMisdirectedRequest, otherHostText
	}
	return 0, ""
}

// matchesHost reports whether a request's Host is the connection's target.
func (s *requestForwarder) matchesHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, plainPort
	}
	return canonicalHost(name) == s.target.host && port == s.target.port
}

// send sends a request to the proxy, and again with a login that the proxy demands, as long as no byte of the body has been sent.
func (s *requestForwarder) send(rq *http.Request, body *requestBody) (resp *http.Response, fault *Error) {
	began := time.Now()
	fault = s.dialer.authenticate(s.proxy, func(f *digestProof) *Error {
		if body.began.Load() {
			return &Error{StageAuth, AuthFailed, "it wants another login, when the body of the request was on its way", nil}
		}
		out := s.rewrite(rq, body, f)
		var err error
		if resp, err = s.roundTrip(out); err != nil {
			return asError(StageRequest, err)
		}
		if resp.StatusCode != http.StatusProxyAuthRequired {
			return nil
		}
		io.CopyN(io.Discard, resp.Body, answerHeadBudget)
		resp.Body.Close()
		return authChallengeIn(resp.StatusCode, resp.Header).fault(s.proxy.Username != "")
	})
	if fault != nil && fault.Stage == StageAuth {
		s.suspect(began, fault)
	}
	return resp, fault
}

// rewrite returns the request in absolute form, without the fields of this hop.
func (s *requestForwarder) rewrite(rq *http.Request, body *requestBody, f *digestProof) *http.Request {
	out := &http.Request{Method: rq.Method, Host: rq.Host, Header: rq.Header.Clone(), ContentLength: rq.ContentLength,
		TransferEncoding: rq.TransferEncoding, Trailer: rq.Trailer,
		URL: &url.URL{Scheme: "http", Host: rq.Host, Opaque: "//" + rq.Host + rq.RequestURI}} // opaque URLs are sent unchanged
	if rq.Body != http.NoBody {
		out.Body = body
	}
	dropHopByHop(out.Header)
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", "") // otherwise net/http sets its own
	}
	if login := authorization(s.proxy, f, out.Method, "http:"+out.URL.Opaque); login != "" {
		out.Header.Set("Proxy-Authorization", login)
	}
	return out.WithContext(httptrace.WithClientTrace(s.ctx, &httptrace.ClientTrace{Got1xxResponse: s.forwardInterim}))
}

// forwardInterim passes an interim answer on, except 100, which sendContinue sends when the body is read.
func (s *requestForwarder) forwardInterim(code int, h textproto.MIMEHeader) error {
	if code == http.StatusContinue {
		return nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", code, http.StatusText(code))
	fields := http.Header(h).Clone()
	dropHopByHop(fields)
	if err := fields.Write(&b); err != nil {
		return err
	}
	b.WriteString("\r\n")
	return s.writeInterim(b.Bytes())
}

// sendContinue tells a client that waits for it to send the body.
func (s *requestForwarder) sendContinue() { s.writeInterim([]byte("HTTP/1.1 100 Continue\r\n\r\n")) }

func (s *requestForwarder) writeInterim(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answering {
		return nil
	}
	_, err := s.down.Write(text)
	return err
}

// writeAnswer writes the answer as it comes. last reports that the end of the connection ends the answer.
func (s *requestForwarder) writeAnswer(rq *http.Request, resp *http.Response) (last bool, err error) {
	s.mu.Lock()
	s.answering = true
	s.mu.Unlock()
	h := resp.Header.Clone()
	dropHopByHop(h)
	chunked := slices.Contains(resp.TransferEncoding, "chunked")
	empty := rq.Method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
	last = rq.Close || !rq.ProtoAtLeast(1, 1) || !empty && !chunked && resp.ContentLength < 0
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %s\r\n", resp.Status)
	if chunked && !empty {
		h.Set("Transfer-Encoding", "chunked")
	}
	if last {
		h.Set("Connection", "close")
	}
	if err := h.Write(&head); err != nil {
		return true, err
	}
	head.WriteString("\r\n")
	if _, err := s.down.Write(head.Bytes()); err != nil || empty {
		return last, err
	}
	return last, s.copyBody(resp, chunked)
}

// copyBody writes each part of a body as soon as it has come.
func (s *requestForwarder) copyBody(resp *http.Response, chunked bool) error {
	b := make([]byte, chunkSize)
	var out []byte
	for {
		n, err := resp.Body.Read(b)
		if n > 0 {
			out = append(out[:0], b[:n]...)
			if chunked {
				out = append(fmt.Appendf(out[:0], "%x\r\n", n), b[:n]...)
				out = append(out, "\r\n"...)
			}
			if _, err := s.down.Write(out); err != nil {
				return err
			}
		}
		if err == io.EOF && chunked {
			var tail bytes.Buffer
			tail.WriteString("0\r\n")
			resp.Trailer.Write(&tail)
			tail.WriteString("\r\n")
			_, err := s.down.Write(tail.Bytes())
			return err
		}
		if err != nil {
			return ignoreEOF(err)
		}
	}
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// reject answers in the proxy's place, and ends the connection.
func (s *requestForwarder) reject(code int, why string) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.down, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"+
		"Connection: close\r\nContent-Length: %d\r\n\r\n%s", code, http.StatusText(code), len(why), why)
	return false
}

// dropHopByHop removes the fields that concern one hop (RFC 9110 section 7.6.1), and those that only a proxy may set.
func dropHopByHop(h http.Header) {
	for _, name := range append(listItems(h["Connection"]), "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade") {
		h.Del(name)
	}
}

// listItems returns the items of a field that is a comma-separated list.
func listItems(values []string) []string {
	items := strings.Split(strings.Join(values, ","), ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// requestBody records how far a body has been read. Its Close does nothing: http.Transport calls it, and must not read what is left.
type requestBody struct {
	io.ReadCloser
	onFirstRead  func()
	began, ended atomic.Bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	if !b.began.Swap(true) {
		b.onFirstRead()
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.ended.Store(true)
	}
	return n, err
}

func (b *requestBody) Close() error { return nil }
