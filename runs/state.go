package runs

import "slices"

// state is the stage of a run between its claim and its recorded end.
type state uint8

const (
	starting state = iota // being planned, queued or launched
	running               // its start is recorded, or it was adopted
	stopping              // a stop was requested; a hold is always in this state
	ended                 // its end is recorded, or its start failed
)

// String returns the state's name in the API and the database. An ended run has no such name, because its profile shows
// the status of its last run.
func (s state) String() string {
	return [...]string{"starting", "running", "stopping", "ended"}[s]
}

// successors returns the states that may follow s.
func (s state) successors() []state {
	return [...][]state{
		starting: {running, ended},
		running:  {stopping, ended},
		stopping: {ended},
		ended:    nil,
	}[s]
}

// to moves the run to the next state. It returns false and changes nothing if next may not follow. Nothing else writes
// the state.
func (r *run) to(next state) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.state.successors(), next) {
		return false
	}
	r.state = next
	return true
}

// now returns the run's state.
func (r *run) now() state {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}
