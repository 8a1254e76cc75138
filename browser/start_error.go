package browser

import "fmt"

// Kinds of StartError.
const (
	StartNotFound   = "not_found"  // the program does not exist
	StartFailed     = "failed"     // the browser, or something before it, failed
	StartTimeout    = "timeout"    // the browser did not take commands in time
	StartLocked     = "locked"     // another browser runs with this profile
	StartCancelled  = "cancelled"  // the context ended, or Stop was called
	StartUnwritable = "unwritable" // the profile's folder belongs to another user
)

// StartError says why a start failed. Nothing is left of the start.
type StartError struct {
	Kind     string
	ExitCode int      // of a browser that exited by itself, else 0
	Lines    []string // the last lines that it printed
	Err      error
}

// Error satisfies error.
func (e *StartError) Error() string {
	s := fmt.Sprintf("start the browser: %v", e.Err)
	if n := len(e.Lines); n > 0 {
		s += ": " + e.Lines[n-1]
	}
	return s
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }
