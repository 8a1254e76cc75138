package browser

import "fmt"

// Kinds of StartError.
const (
	StartNotFound   = "not_found"  // there is no such program
	StartFailed     = "failed"     // the browser, or something before it, failed
	StartTimeout    = "timeout"    // the browser did not take commands in time
	StartLocked     = "locked"     // another browser runs with this profile
	StartCancelled  = "cancelled"  // the context ended, or Stop was called
	StartUnwritable = "unwritable" // the profile's folder is not the user's own
)

// StartError says why a start failed. Nothing is left of it.
type StartError struct {
	Kind     string
	ExitCode int      // of the browser, when it exited by itself; else 0
	Lines    []string // the last lines that it printed
	Err      error
}

func (e *StartError) Error() string {
	s := fmt.Sprintf("start the browser: %v", e.Err)
	if n := len(e.Lines); n > 0 {
		s += ": " + e.Lines[n-1]
	}
	return s
}

func (e *StartError) Unwrap() error { return e.Err }
