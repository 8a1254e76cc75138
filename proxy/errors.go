package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
)

// Stage is the step of a dial or a check at which something failed.
type Stage string

// The stages, in their order. SOCKS4 and CONNECT have one exchange, the request stage.
const (
	StageResolve  Stage = "resolve"  // look-up of the proxy's name, or of the target's without a proxy
	StageConnect  Stage = "connect"  // TCP to the proxy, or to the target without a proxy
	StageTLS      Stage = "tls"      // TLS to the proxy, or to the check URL through it
	StageGreeting Stage = "greeting" // the first answer: SOCKS5's choice of method; whether the server is a proxy at all
	StageAuth     Stage = "auth"     // user name and password
	StageRequest  Stage = "request"  // the proxy's answer about the target
	StageResponse Stage = "response" // the check URL's answer
)

// Code tells what failed. Programs compare it.
type Code string

// The codes.
const (
	DNSFailed         Code = "dns_failed"
	ConnectionRefused Code = "connection_refused"
	ConnectionClosed  Code = "connection_closed"
	TimedOut          Code = "timed_out" // also when the caller cancelled, which errors.Is with context.Canceled tells
	HostUnreachable   Code = "host_unreachable"
	TLSFailed         Code = "tls_failed"
	NotAProxy         Code = "not_a_proxy"
	AuthRequired      Code = "auth_required"
	AuthFailed        Code = "auth_failed"
	AuthUnsupported   Code = "auth_unsupported" // the proxy wants a login in a way that is not supported
	RequestRefused    Code = "request_refused"
	TargetUnreachable Code = "target_unreachable"
	BadResponse       Code = "bad_response"
	BlockedAddress    Code = "blocked_address"
)

// Error is the error of every dial and check. Message is one sentence for people. It never holds a secret or bytes that the other side
// sent. Err is the cause, for the log.
type Error struct {
	Stage   Stage  `json:"stage"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Err     error  `json:"-"`
}

// Error implements error. It leaves out the cause, which may hold bytes that a server sent.
func (e *Error) Error() string {
	return "proxy: " + string(e.Stage) + ": " + string(e.Code) + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// causeOf returns the cause of a fault, or nil.
func causeOf(fault *Error) error {
	if fault == nil {
		return nil
	}
	return fault.Err
}

// asError returns err as an *Error: itself when it is one, else as the cause of a fault in a stage.
func asError(stage Stage, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	code, message := causeCode(stage, err)
	return &Error{stage, code, message, err}
}

// causeCode classifies an error of the operating system, the resolver or TLS.
func causeCode(stage Stage, err error) (Code, string) {
	dns, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return TimedOut, "the attempt was given up before it was done"
	case isTimeout(err):
		return TimedOut, timeoutMessages[stage]
	case isDNS && dns.IsNotFound:
		return DNSFailed, "the host name does not exist"
	case isDNS:
		return DNSFailed, "the host name could not be looked up"
	case isErrno(err, refusedErrnos):
		return ConnectionRefused, "nothing listens on that port"
	case isClosed(err):
		return ConnectionClosed, "the connection was closed in the middle"
	case isErrno(err, unreachableErrnos):
		return HostUnreachable, "there is no way to that host"
	case isTLS(err):
		return TLSFailed, tlsMessage(err)
	}
	switch stage {
	case StageConnect, StageResolve:
		return HostUnreachable, "the host could not be reached"
	case StageTLS:
		return TLSFailed, tlsMessage(err)
	}
	return ConnectionClosed, "the connection broke"
}

var timeoutMessages = map[Stage]string{
	StageResolve:  "the look-up of the host name took too long",
	StageConnect:  "the host did not take the connection in time",
	StageTLS:      "the TLS handshake was not done in time",
	StageGreeting: "the proxy took the connection but did not answer in time",
	StageAuth:     "the proxy did not answer the user name and password in time",
	StageRequest:  "the proxy did not answer the request in time",
	StageResponse: "the check URL did not answer in time",
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

func isClosed(err error) bool {
	closed := append([]error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe}, closedErrnos...)
	return slices.ContainsFunc(closed, func(e error) bool { return errors.Is(err, e) })
}

func isErrno(err error, list []error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && slices.Contains(list, error(errno))
}

// isA reports whether an error or one of its causes is a T.
func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

func isTLS(err error) bool {
	return isA[tls.RecordHeaderError](err) || isA[tls.AlertError](err) || isA[*tls.CertificateVerificationError](err)
}

func tlsMessage(err error) string {
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case isA[tls.RecordHeaderError](err):
		return "the server does not speak TLS on that port"
	case isA[x509.HostnameError](err):
		return "the server's certificate is for another name"
	case isA[x509.UnknownAuthorityError](err):
		return "the server's certificate is signed by nobody this machine trusts"
	case isInvalid && invalid.Reason == x509.Expired:
		return "the server's certificate has expired or is not valid yet"
	}
	return "the TLS handshake failed"
}

// isLookup reports whether a dial failed before it had an address.
func isLookup(err error) bool { return isA[*net.DNSError](err) || isA[*net.AddrError](err) }
