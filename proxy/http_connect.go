package proxy

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
)

// connectBudget is how many bytes the head of an answer to CONNECT may have, interim answers included.
const connectBudget = 16 << 10

// negotiateCONNECT sends CONNECT (RFC 9110 section 9.3.6) with a Digest answer, or with Basic credentials when f is nil.
// It returns the bytes that came after the answer's head, which belong to the tunnel.
func negotiateCONNECT(c net.Conn, p *Proxy, t target, f *digestProof) (early []byte, fault *Error) {
	b := make([]byte, 0, 512)
	b = fmt.Appendf(b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", t.address(), t.address())
	if login := authorization(p, f, "CONNECT", t.address()); login != "" {
		b = fmt.Appendf(b, "Proxy-Authorization: %s\r\n", login)
	}
	if _, err := c.Write(append(b, "\r\n"...)); err != nil {
		return nil, asError(StageRequest, err)
	}
	head, early, fault := readHead(c)
	if fault != nil {
		return nil, fault
	}
	status, ok := statusOf(head)
	if !ok {
		return nil, notHTTP(head)
	}
	if status >= 200 && status < 300 {
		return early, nil
	}
	return nil, statusFault(status, head, p.Username != "")
}

// readHead reads up to the empty line, and returns what came after it in rest. Interim answers (RFC 9110 section 15.2) are skipped.
func readHead(c net.Conn) (head, rest []byte, fault *Error) {
	b := make([]byte, 0, 1024)
	start, seen := 0, 0 // start of the head, and how far it was searched
	for {
		if len(b) == cap(b) {
			if len(b) >= connectBudget {
				return nil, nil, &Error{StageRequest, NotAProxy, "the head of the proxy's answer is longer than 16 KiB", errBudget}
			}
			b = append(make([]byte, 0, 4*len(b)), b...)
		}
		n, err := c.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if !bytes.HasPrefix(b, []byte("HTTP/"[:min(len(b), 5)])) {
			return nil, nil, notHTTP(b)
		}
		for end := headEnd(b, seen); end > 0; end = headEnd(b, seen) {
			status, ok := statusOf(b[start:])
			if !ok || status >= 200 {
				return b[start:end], b[end:], nil
			}
			start, seen = end, end
		}
		seen = max(start, len(b)-2)
		if err != nil {
			return nil, nil, asError(StageRequest, err)
		}
	}
}

// headEnd returns the end of the first empty line at or after from, or 0. It takes a bare LF too (RFC 9112 section 2.2).
func headEnd(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		if b[i] != '\n' {
			continue
		}
		if i >= 1 && b[i-1] == '\n' || i >= 2 && b[i-1] == '\r' && b[i-2] == '\n' {
			return i + 1
		}
	}
	return 0
}

// statusOf reads the code of "HTTP/1.1 200 …".
func statusOf(head []byte) (int, bool) {
	fields := bytes.SplitN(bytes.TrimRight(head[:max(0, bytes.IndexByte(head, '\n'))], "\r"), []byte(" "), 3)
	if len(fields) < 2 || len(fields[1]) != 3 || !bytes.HasPrefix(fields[0], []byte("HTTP/1.")) {
		return 0, false
	}
	n, err := strconv.Atoi(string(fields[1]))
	return n, err == nil && n >= 100
}

func notHTTP(got []byte) *Error {
	message := "the server's answer is not HTTP"
	if len(got) > 0 {
		switch got[0] {
		case 0x15, 0x16:
			message = "the server answers in TLS: the type may have to be https"
		case 0, 4, 5:
			message = "the server answers like a SOCKS server, not HTTP"
		}
	}
	return &Error{StageGreeting, NotAProxy, message, nil}
}

// statusError is the HTTP status with which a proxy refused.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("HTTP status %d", int(s)) }

// statusFault returns the fault that an HTTP proxy's refusal stands for.
func statusFault(status int, head []byte, credentials bool) *Error {
	cause := statusError(status)
	switch {
	case status == 407, status == 401: // some proxies answer 401 to a wrong password
		return parseAuthChallenge(status, head).fault(credentials)
	case status == 400, status == 405, status == 501: // answers of web servers to CONNECT
		return &Error{StageGreeting, NotAProxy, "the server speaks HTTP but does not do CONNECT: it is no proxy", cause}
	case status == 502, status == 503, status == 504:
		return &Error{StageRequest, TargetUnreachable, fmt.Sprintf("the proxy could not reach the target (HTTP status %d)", status), cause}
	}
	return &Error{StageRequest, RequestRefused, fmt.Sprintf("the proxy refused the request (HTTP status %d)", status), cause}
}
