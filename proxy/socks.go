package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"

	xproxy "golang.org/x/net/proxy"
)

// maxSOCKS5Answer is how many bytes a SOCKS5 server may send in a handshake. The longest valid answers have 266.
const maxSOCKS5Answer = 600

// Protocol constants of SOCKS5 (RFC 1928, RFC 1929).
const (
	socksVersion     = 5
	methodNone       = 0x00
	methodPassword   = 0x02
	methodNoneOfThem = 0xff
	passwordVersion  = 1
)

var (
	errBudget        = errors.New("the server sent more than a handshake needs")
	errRefused       = errors.New("the server has refused already")
	errMethod        = errors.New("the server chose a method that was not offered")
	errPasswordAlone = errors.New("the server takes no password, and the pipelined handshake offered nothing else")
	errMismatch      = errors.New("the next message is not the one that was pipelined")
)

// handshake holds the variants of a handshake on one connection, and its observers.
type handshake struct {
	digest    *digestProof   // the Digest answer for an HTTP proxy; nil means Basic
	pipelined []byte         // a pipelined handshake (see pipelinedHandshake); nil sends each message after the answer to the one before
	onSend    func(net.Conn) // called before the first message is sent; may be nil
	onStage   func(Stage)    // called when the answers have led to a later stage; may be nil
	request   []byte         // sent in place of CONNECT; nil means CONNECT
	bound     *[]byte        // receives the server's answer to the request; may be nil
}

// negotiateSOCKS5 runs the client of x/net over a transcript. x/net reports faults as text only; the transcript says where the
// handshake stopped and why.
func negotiateSOCKS5(c net.Conn, p *Proxy, t target, h *handshake) *Error {
	tr := &transcript{Conn: c, password: p.Username != "", handshake: h}
	var auth *xproxy.Auth
	if tr.password {
		auth = &xproxy.Auth{User: p.Username, Password: p.Password}
	}
	d, err := xproxy.SOCKS5("tcp", p.Address(), auth, connDialer{tr})
	if err != nil {
		return asError(StageGreeting, err)
	}
	if _, err = d.(xproxy.ContextDialer).DialContext(context.Background(), "tcp", t.address()); err != nil {
		return tr.fault(err)
	}
	if h.bound != nil {
		_, *h.bound = tr.stage()
	}
	return nil
}

// connDialer is a proxy.Dialer that returns an open connection. x/net gets no context, since runCancellable ends the handshake.
type connDialer struct{ c net.Conn }

func (d connDialer) Dial(string, string) (net.Conn, error) { return d.c, nil }

func (d connDialer) DialContext(context.Context, string, string) (net.Conn, error) { return d.c, nil }

// transcript records a SOCKS5 handshake on the client's side, and sends the pipelined bytes.
type transcript struct {
	net.Conn
	*handshake
	password  bool   // user name and password are offered
	writes    int    // messages that x/net has sent
	pending   []byte // pipelined bytes that x/net has not sent yet
	got       []byte // everything that the server answered
	delivered int    // bytes of got that x/net has read
}

func (tr *transcript) Read(b []byte) (n int, err error) {
	if tr.delivered == len(tr.got) {
		err = tr.receive(len(b))
	}
	n = copy(b, tr.got[tr.delivered:])
	tr.delivered += n
	if err == nil && tr.refused() {
		err = errRefused // ends a read that would wait for more, and only that
	}
	return n, err
}

// receive reads at most n bytes. After a pipelined handshake it reads as many as the shortest handshake still has, since they may
// have come together. What follows the handshake stays in the connection.
func (tr *transcript) receive(n int) error {
	if tr.pipelined != nil {
		n = max(n, tr.minAnswer()-len(tr.got))
	}
	if len(tr.got)+n > maxSOCKS5Answer {
		return errBudget
	}
	tr.got = slices.Grow(tr.got, n)
	m, err := tr.Conn.Read(tr.got[len(tr.got) : len(tr.got)+n])
	tr.got = tr.got[:len(tr.got)+m]
	return err
}

// minAnswer is the least that a server sends before a tunnel: two bytes for the method, two for the password and seven for the request.
func (tr *transcript) minAnswer() int {
	if tr.password {
		return 2 + 2 + 7
	}
	return 2 + 7
}

// refused reports whether the server's answer cannot become a success, whatever follows.
func (tr *transcript) refused() bool {
	stage, got := tr.stage()
	return len(got) > 0 && got[0] != versionOf(stage) || len(got) > 1 && got[1] != 0 && stage == StageRequest
}

// Write sends the next message. x/net goes on after any method; Write fails after one that was not offered.
func (tr *transcript) Write(b []byte) (int, error) {
	if tr.writes == 1 && !tr.offered(tr.got[1]) {
		return 0, errMethod
	}
	tr.writes++
	switch {
	case tr.writes == 1 && tr.onSend != nil:
		tr.onSend(tr.Conn)
	case tr.writes > 1 && tr.onStage != nil:
		stage, _ := tr.stage()
		tr.onStage(stage)
	}
	if stage, _ := tr.stage(); tr.request != nil && stage == StageRequest {
		_, err := tr.Conn.Write(tr.request)
		return len(b), err
	}
	switch {
	case tr.pipelined == nil:
		return tr.Conn.Write(b)
	case tr.writes == 1:
		_, err := tr.Conn.Write(tr.pipelined)
		tr.pending = tr.pipelined[pipelinedGreeting:]
		return len(b), err
	}
	rest, same := bytes.CutPrefix(tr.pending, b)
	if !same {
		return 0, errMismatch
	}
	tr.pending = rest
	return len(b), nil
}

func (tr *transcript) offered(method byte) bool {
	if tr.password && method == methodPassword {
		return true
	}
	return method == methodNone && (!tr.password || tr.pipelined == nil)
}

// stage returns the stage of the message that was sent last, and the server's answer to it so far.
func (tr *transcript) stage() (Stage, []byte) {
	switch {
	case tr.writes < 2:
		return StageGreeting, tr.got
	case tr.got[1] == methodPassword && tr.writes == 2:
		return StageAuth, tr.got[2:]
	case tr.got[1] == methodPassword:
		return StageRequest, tr.got[4:]
	}
	return StageRequest, tr.got[2:]
}

func (tr *transcript) fault(err error) *Error {
	stage, got := tr.stage()
	switch {
	case len(got) > 0 && got[0] != versionOf(stage):
		return &Error{stage, NotAProxy, notSOCKS5(got[0]), err}
	case len(got) < 2:
		return asError(stage, err)
	case stage == StageGreeting:
		return tr.methodFault(got[1], err)
	case stage == StageAuth && got[1] != 0:
		return &Error{StageAuth, AuthFailed, "the proxy does not take this user name and password", err}
	case stage == StageRequest && got[1] != 0:
		return replyFault(replyError(got[1]))
	case isTimeout(err) || isClosed(err):
		return asError(stage, err)
	}
	return &Error{stage, NotAProxy, "the server's answer is not SOCKS5", err}
}

func (tr *transcript) methodFault(method byte, err error) *Error {
	switch {
	case method == methodNoneOfThem && tr.password && tr.pipelined != nil:
		return &Error{StageAuth, AuthFailed, "the proxy takes no user name and password", errPasswordAlone}
	case method == methodNoneOfThem && tr.password:
		return &Error{StageAuth, AuthFailed, "the proxy takes neither a user name with a password nor a login without", err}
	case method == methodNoneOfThem, method == methodPassword && !tr.password:
		return &Error{StageAuth, AuthRequired, "the proxy wants a user name and a password", err}
	case isTimeout(err) || isClosed(err):
		return asError(StageGreeting, err)
	}
	return &Error{StageGreeting, NotAProxy, "the server chose a way to log in that was not offered", err}
}

func versionOf(s Stage) byte {
	if s == StageAuth {
		return passwordVersion
	}
	return socksVersion
}

func notSOCKS5(first byte) string {
	switch first {
	case 'H':
		return "the server answers like an HTTP server: the type may have to be http"
	case 0, 4:
		return "the server answers like SOCKS4: the type may have to be socks4"
	case 0x15, 0x16:
		return "the server answers in TLS: the type may have to be https"
	}
	return "the server's answer is not SOCKS5"
}

// replyError is the reply code of a SOCKS5 server (RFC 1928 section 6).
type replyError byte

func (r replyError) Error() string { return fmt.Sprintf("SOCKS5 reply code %#02x", byte(r)) }

// replyFault returns the fault that a reply code stands for.
func replyFault(r replyError) *Error {
	codes := map[replyError]Code{3: TargetUnreachable, 4: HostUnreachable, 5: TargetUnreachable, 6: TargetUnreachable}
	messages := map[replyError]string{
		1: "the proxy says that it failed, not why",
		2: "the proxy's rules do not allow this target",
		3: "the proxy has no way to the target's network",
		4: "the proxy has no way to the target",
		5: "the target refused the proxy's connection",
		6: "the target did not answer the proxy in time",
		7: "the proxy does not do connections",
		8: "the proxy does not take this kind of address",
	}
	return &Error{StageRequest, cmp.Or(codes[r], RequestRefused), cmp.Or(messages[r], "the proxy refused the request"), r}
}

// negotiateSOCKS4 asks for an IPv4 target by SOCKS4 and for any other by SOCKS4a. There the name, or an IPv6 address as text,
// follows the address 0.0.0.1, and the server resolves it. SOCKS4 carries the user name, and no password.
func negotiateSOCKS4(c net.Conn, p *Proxy, t target) *Error {
	b := binary.BigEndian.AppendUint16([]byte{4, 1}, t.portNumber())
	address, name := []byte{0, 0, 0, 1}, t.host+"\x00"
	if t.addr.Is4() {
		address, name = t.addr.AsSlice(), ""
	}
	b = append(append(append(b, address...), p.Username+"\x00"...), name...)
	if _, err := c.Write(b); err != nil {
		return asError(StageRequest, err)
	}
	var got [8]byte
	for n := 0; n < len(got); {
		m, err := c.Read(got[n:])
		n += m
		switch {
		case n > 0 && got[0] != 0 && got[0] != 4: // the version of a reply is 0; some servers repeat the request's 4
			return &Error{StageGreeting, NotAProxy, "the server's answer is not SOCKS4", err}
		case err != nil && n < len(got):
			return asError(StageRequest, err)
		}
	}
	reply := fmt.Errorf("SOCKS4 reply code %#02x", got[1])
	switch got[1] {
	case 0x5a:
		return nil
	case 0x5b:
		message := "the proxy refused the request or could not reach the target"
		if !t.addr.Is4() {
			message += ", or it cannot look names up (SOCKS4 without 4a): then it needs another type, such as socks5"
		}
		return &Error{StageRequest, RequestRefused, message, reply}
	case 0x5c, 0x5d:
		if p.Username == "" {
			return &Error{StageAuth, AuthRequired, "the proxy wants a user name", reply}
		}
		return &Error{StageAuth, AuthFailed, "the proxy does not take this user name", reply}
	}
	return &Error{StageRequest, NotAProxy, "the server's answer is not SOCKS4", reply}
}
