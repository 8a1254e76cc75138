// Package problem defines the errors that clients see. Each has a kind, a code for programs and a message for people.
package problem

import (
	"errors"
	"time"
)

// Kind classifies an error. Package api maps kinds to HTTP statuses.
type Kind uint8

// The kinds.
const (
	Internal    Kind = iota // a fault in Warren; the client does not see its cause
	Invalid                 // the request is well formed, but its content is refused
	NotFound                // there is no such object, or the caller may not see it
	Conflict                // the object's state does not allow the operation
	TooMany                 // the caller must wait
	Unavailable             // the server cannot do it now
	Timeout                 // the server waited too long for something
	Upstream                // another server refused or did not answer
	Storage                 // the disk or a quota is full
	Cancelled               // the caller went away, so nobody reads the answer

	Malformed    // the request cannot be read
	Unauthorized // the request has no valid key
	Forbidden    // the key does not allow the operation
	WrongMethod  // the address does not support the method
	Slow         // the request did not arrive in time
	Gone         // the place in a list is not known any more
	Changed      // the object has changed since it was read
	TooLarge     // the request is too large
	Unsupported  // the request's media type is not supported
	Misdirected  // the request is for another host
)

// OfCaller reports whether errors of the kind are caused by the request or by the state of its object. Other kinds are
// caused by the server.
func (k Kind) OfCaller() bool {
	switch k {
	case Internal, Unavailable, Timeout, Upstream, Storage:
		return false
	}
	return true
}

// Fault is one invalid part of a request.
type Fault struct {
	Location string `json:"location" doc:"Where: body.name, query.limit, path.id." example:"body.name"`
	Message  string `json:"message" doc:"What is wrong and what is allowed." example:"Enter a name of 1 to 200 characters."`
	Value    any    `json:"value,omitempty" doc:"What was sent, when it is short and cannot be a secret."`
}

// Error makes Fault an error, so that validators can return it.
func (f Fault) Error() string { return f.Location + ": " + f.Message }

// Error is an error that a client sees.
type Error struct {
	Kind       Kind
	Code       string // for programs; stable
	Message    string // for people: what happened, and what to do next
	Faults     []Fault
	Details    any           // further data of the code; package api knows the types
	RetryAfter time.Duration // 0: not sent
	Cause      error         // only logged
}

// New makes an error of a kind.
func New(k Kind, code, message string) *Error { return &Error{Kind: k, Code: code, Message: message} }

// Missing is the error for an unknown id of an object.
func Missing(object string) *Error {
	return New(NotFound, object+"_not_found", "There is no "+object+" with this id.")
}

// NotValid is the error for a request with faults.
func NotValid(faults ...Fault) *Error {
	e := New(Invalid, "validation_failed", "Some values are not valid. `errors` says what to change.")
	e.Faults = faults
	return e
}

// Hidden hides err from the client. The log has it under the request's id.
func Hidden(err error) *Error {
	return New(Internal, "internal", "Something went wrong inside warren. The log has the cause under this request's id.").Because(err)
}

// DiskFull is the error for a write without free space.
func DiskFull(err error) *Error {
	return New(Storage, "disk_full",
		"The disk is full; nothing was changed. Free some space in the data folder's file system and try again.").Because(err)
}

// DiskFailed is the error for a read or a write that the disk could not do.
func DiskFailed(err error) *Error {
	return New(Unavailable, "disk_failed",
		"The disk failed. Look at the data folder's disk and at the system's log, then try again. Warren's log has the cause.").Because(err)
}

// Because sets the cause, for the log.
func (e *Error) Because(err error) *Error { e.Cause = err; return e }

// After sets when to try again.
func (e *Error) After(d time.Duration) *Error { e.RetryAfter = d; return e }

// With sets the further data of the code.
func (e *Error) With(details any) *Error { e.Details = details; return e }

// Error returns the text for the log, with the cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Code + ": " + e.Message + ": " + e.Cause.Error()
	}
	return e.Code + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether err is an error of a kind.
func Is(err error, k Kind) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == k
}

// HasCode reports whether err is an error with a code.
func HasCode(err error, code string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}
