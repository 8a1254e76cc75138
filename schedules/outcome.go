package schedules

import "time"

// The states of an occurrence.
const (
	Running     = "running"
	Done        = "done"
	Partial     = "partial"
	Failed      = "failed"
	Interrupted = "interrupted"
)

// Occurrence is what the last occurrence of a schedule came to, as stored and answered.
type Occurrence struct {
	At        time.Time     `json:"at,format:'2006-01-02T15:04:05.000Z07:00'" doc:"When it began." example:"2026-11-21T14:06:00.000Z"`
	DueAt     time.Time     `json:"dueAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"When it was due." example:"2026-11-21T14:06:00.000Z"`
	EndedAt   *time.Time    `json:"endedAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"null: it goes on, or the server ended first." example:"2026-11-21T14:06:00.000Z"`
	Status    string        `json:"status" enum:"running,done,partial,failed,interrupted" doc:"running: it goes on; that of a start until its runs have ended. partial: it failed for some. interrupted: the server ended first."`
	CaughtUp  bool          `json:"caughtUp" doc:"It made up for occurrences that were missed."`
	Targets   int           `json:"targets" doc:"The profiles or proxies that it acted on, with those that are gone."`
	Done      int           `json:"done" doc:"Those for which it worked, or for which nothing was to be done."`
	Unchanged int           `json:"unchanged" doc:"Of those, for which nothing was to be done: they ran already, did not run, had no data, or kept their exit."`
	Failed    int           `json:"failed" doc:"Those for which it failed."`
	Errors    []TargetError `json:"errors" doc:"Why it failed for them: the first 20."`
	Message   string        `json:"message" doc:"For people; empty where there is nothing to say."`
}

// TargetError is a target for which an occurrence failed.
type TargetError struct {
	ID      string `json:"id" doc:"The profile or the proxy."`
	Code    string `json:"code" doc:"As the error of the single operation has it." example:"profile_not_found"`
	Message string `json:"message" doc:"What happened, and what to do."`
}

// The events of schedules. Their members are in the order of their names.
type (
	// startedEvent is schedule.started: an occurrence began.
	startedEvent struct {
		DueAt time.Time `json:"dueAt,format:'2006-01-02T15:04:05.000Z07:00'"`
		ID    string    `json:"id"`
	}

	// endedEvent is schedule.ended: an occurrence ended.
	endedEvent struct {
		Done   int    `json:"done"`
		Failed int    `json:"failed"`
		ID     string `json:"id"`
		Status string `json:"status"`
	}

	// skippedEvent is schedule.skipped: the occurrence before still goes on. One event tells of all that it skips.
	skippedEvent struct {
		DueAt time.Time `json:"dueAt,format:'2006-01-02T15:04:05.000Z07:00'"`
		ID    string    `json:"id"`
	}

	// missedEvent is schedule.missed: no server ran, the machine slept, or its clock was put forward.
	missedEvent struct {
		CaughtUp bool      `json:"caughtUp"`
		ID       string    `json:"id"`
		Missed   int64     `json:"missed"`
		Since    time.Time `json:"since,format:'2006-01-02T15:04:05.000Z07:00'"`
	}

	// notStartedEvent is profile.start_failed: a profile was not started with the server.
	notStartedEvent struct {
		Code    string `json:"code"`
		ID      string `json:"id"`
		Message string `json:"message"`
	}
)
