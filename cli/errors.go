// Package cli is the command line for a server of Warren: every operation of its API as a command. It speaks HTTP alone.
package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
)

// Exit codes of every command.
const (
	ExitDone    = 0 // done
	ExitFailed  = 1 // failed
	ExitMisused = 2 // misused: a flag, a name or a value
	ExitRefused = 3 // refused for safety
)

// coded is an error with an exit code.
type coded struct {
	error
	code int
}

// ExitCode returns the exit code that the error stands for.
func (c coded) ExitCode() int { return c.code }

// Unwrap returns the error.
func (c coded) Unwrap() error { return c.error }

// misusef returns an error of the caller, with exit code 2. refusef returns a refusal for safety, with exit code 3.
func misusef(format string, a ...any) error { return coded{fmt.Errorf(format, a...), ExitMisused} }
func refusef(format string, a ...any) error { return coded{fmt.Errorf(format, a...), ExitRefused} }

// Misuse returns err as an error of the caller.
func Misuse(err error) error { return coded{err, ExitMisused} }

// Refused returns err as it is for what the caller wants to send, and not for the server's answer.
func Refused(err error) error { return coded{err, ExitFailed} }

// ExitCode returns the exit code of an error: 0 done, 1 failed, 2 misused, 3 refused for safety.
func ExitCode(err error) int {
	var parsed *kong.ParseError
	var with interface{ ExitCode() int }
	switch {
	case err == nil, errors.Is(err, errGone):
		return ExitDone
	case errors.As(err, &parsed):
		return ExitMisused
	case errors.As(err, &with):
		return with.ExitCode()
	}
	return ExitFailed
}

// errGone says that whoever read the output has gone, as head does after its lines. Nobody is left to tell.
var errGone = errors.New("the reader of the output has gone")

// pipe is standard output. Its error is errGone when its reader has gone.
type pipe struct{ io.Writer }

// Write writes to the output.
func (p pipe) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		err = errGone
	}
	return n, err
}

// file returns the file behind a stream, nil if there is none.
func file(stream any) *os.File {
	if p, ok := stream.(pipe); ok {
		stream = p.Writer
	}
	f, _ := stream.(*os.File)
	return f
}

// refused is a problem answer of the server (RFC 9457) as an error.
type refused struct {
	status int
	code   string
	text   string
}

func (r *refused) Error() string { return r.text }

// misusing are the statuses of what the caller got wrong. safety are the codes of what the server refuses for safety.
var (
	misusing = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity}
	safety = []string{"isolation_unavailable", "isolation_refused", "identity_mismatch", "proxy_unreachable", "proxy_missing",
		"profile_damaged", "browser_too_old", "host_not_allowed", "origin_not_allowed"}
)

// ExitCode returns 2 for what the caller got wrong, 3 for what is refused for safety, else 1.
func (r *refused) ExitCode() int {
	switch {
	case slices.Contains(safety, r.code):
		return ExitRefused
	case slices.Contains(misusing, r.status):
		return ExitMisused
	}
	return ExitFailed
}

// refusedBy turns an answer of 400 or more into an error with every fault that the server names. Members that it does not know are left.
func refusedBy(status int, answer []byte) error {
	var p struct {
		Detail string `json:"detail"`
		Code   string `json:"code"`
		Errors []struct {
			Location string `json:"location"`
			Message  string `json:"message"`
		} `json:"errors"`
		Lines []string `json:"lines"`
	}
	if json.Unmarshal(answer, &p) != nil || p.Code == "" {
		return &refused{status: status, text: fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))}
	}
	var text strings.Builder
	text.WriteString(p.Detail)
	for _, f := range p.Errors {
		fmt.Fprintf(&text, "\n  %s: %s", f.Location, f.Message)
	}
	for _, line := range p.Lines {
		fmt.Fprintf(&text, "\n  | %s", line)
	}
	fmt.Fprintf(&text, " (%s)", p.Code)
	return &refused{status: status, code: p.Code, text: harmless(text.String())}
}

// unknownHere reports whether the server does not have the operation at all: one of another version may not.
func (r *refused) unknownHere() bool {
	return r.status == http.StatusMethodNotAllowed || r.status == http.StatusNotFound && (r.code == "not_found" || r.code == "")
}
