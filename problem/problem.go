// Package problem holds the errors that a client is told. Each has a kind, a code for programs and a message for people.
package problem

import (
	"errors"
	"time"
)

// Kind says what sort of error one is. Package api maps kinds to HTTP statuses.
type Kind uint8

// The kinds.
const (
	Internal    Kind = iota // a fault of Warren's own; the client is not told its cause
	Invalid                 // the request is well formed, and its content is refused
	NotFound                // there is no such object, or the caller may not see it
	Conflict                // the object's state does not allow the operation
	TooMany                 // the caller has to wait
	Unavailable             // the server cannot do it now
	Timeout                 // something that the server waited for took too long
	Upstream                // another server refused, or did not answer
	Storage                 // there is no room
	Cancelled               // the caller went away; nobody reads the answer

	Malformed    // the request cannot be read
	Unauthorized // the request has no valid key
	Forbidden    // the key does not allow the operation
	WrongMethod  // the address takes other methods
	Slow         // the request did not arrive in time
	Gone         // the place in a list is no longer known
	Changed      // the object has changed since it was read
	TooLarge     // the request is too large
	Unsupported  // the request's media type is not taken
	Misdirected  // the request names another host
)

// OfCaller says whether an error of the kind has its reason in the request or in the state of what it names. Others have it in the server.
func (k Kind) OfCaller() bool {
	switch k {
	case Internal, Unavailable, Timeout, Upstream, Storage:
		return false
	}
	return true
}

// Fault is one thing that is wrong with a request.
type Fault struct {
	Location string `json:"location" doc:"Where: body.name, query.limit, path.id." example:"body.name"`
	Message  string `json:"message" doc:"What is wrong and what is allowed." example:"must have 1 to 200 characters"`
	Value    any    `json:"value,omitempty" doc:"What was sent, when it is short and cannot be a secret."`
}

// Error makes a fault an error, so that validators return it.
func (f Fault) Error() string { return f.Location + ": " + f.Message }

// Error is an error that a client is told.
type Error struct {
	Kind       Kind
	Code       string // for programs; it never changes
	Message    string // for people: what happened, and what to do next
	Faults     []Fault
	Details    any           // what the code carries beyond this; package api knows the types
	RetryAfter time.Duration // 0: nothing is said
	Cause      error         // for the log alone
}

// New makes an error of a kind.
func New(k Kind, code, message string) *Error { return &Error{Kind: k, Code: code, Message: message} }

// Missing says that there is no object with the id that was named.
func Missing(object string) *Error {
	return New(NotFound, object+"_not_found", "There is no "+object+" with this id.")
}

// NotValid refuses a request for its faults.
func NotValid(faults ...Fault) *Error {
	e := New(Invalid, "validation_failed", "The request is not valid. `errors` names every fault.")
	e.Faults = faults
	return e
}

// Hidden hides err from the client. The log has it under the request's id.
func Hidden(err error) *Error {
	return New(Internal, "internal", "Something went wrong inside warren. The log has the cause under this request's id.").Because(err)
}

// DiskFull says that there is no room for what was asked for.
func DiskFull(err error) *Error {
	return New(Storage, "disk_full", "The disk is full; nothing was changed. Free some space in the data folder's file system and try again.").Because(err)
}

// Because adds the cause, for the log.
func (e *Error) Because(err error) *Error { e.Cause = err; return e }

// After says when to try again.
func (e *Error) After(d time.Duration) *Error { e.RetryAfter = d; return e }

// With adds what the code carries beyond its message.
func (e *Error) With(details any) *Error { e.Details = details; return e }

// Error is the text for the log, with the cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Code + ": " + e.Message + ": " + e.Cause.Error()
	}
	return e.Code + ": " + e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is says whether err is an error of a kind.
func Is(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}

// HasCode says whether err is an error with a code.
func HasCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
