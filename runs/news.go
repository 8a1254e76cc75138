package runs

import (
	"time"

	"warren/events"
)

// Publishes the events of runs. The data of each event has a type of its own.

// statusEvent is the data of profile.status.
type statusEvent struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// runEvent is the data of run.updated and run.thawed.
type runEvent struct {
	ID    string `json:"id"`
	RunID string `json:"runId"`
}

// startedEvent is the data of run.started.
type startedEvent struct {
	ID        string `json:"id"`
	Restarted bool   `json:"restarted"`
	RunID     string `json:"runId"`
}

// endedEvent is the data of run.ended.
type endedEvent struct {
	ID       string     `json:"id"`
	Reason   string     `json:"reason"`
	Restarts *bool      `json:"restarts,omitempty"` // absent: the start failed
	RunID    string     `json:"runId"`
	Status   string     `json:"status"`
	Memory   *EndMemory `json:"memory,omitempty"` // after out_of_memory
}

// expiringEvent is the data of run.expiring. EndsAt is null if the run will not be closed after all.
type expiringEvent struct {
	EndsAt *time.Time `json:"endsAt"`
	ID     string     `json:"id"`
	Reason string     `json:"reason"`
	RunID  string     `json:"runId"`
}

// frozenEvent is the data of run.frozen. That of run.thawed is a runEvent.
type frozenEvent struct {
	ID    string    `json:"id"`
	RunID string    `json:"runId"`
	Since time.Time `json:"since,format:'2006-01-02T15:04:05.000Z07:00'"`
}

// fallbackEvent is the data of run.fallback: the run continues through the next proxy.
type fallbackEvent struct {
	Code  string `json:"code"` // why From counts as dead
	From  string `json:"from"`
	ID    string `json:"id"`
	RunID string `json:"runId"`
	To    string `json:"to"`
}

// capabilityEvent is the data of capability.created and capability.revoked.
type capabilityEvent struct {
	ID        string `json:"id"`
	ProfileID string `json:"profileId"`
	RunID     string `json:"runId"`
}

// DeletedEvent is the data of profile.deleted.
type DeletedEvent struct {
	ID        string `json:"id"`
	Permanent bool   `json:"permanent"`
}

func (m *Manager) publish(r *run, kind string, data any) {
	m.events.Publish(events.Event{Type: kind, Workspace: r.workspaceID, Data: data})
}

// publishUpdate announces that the run's answer has changed: its proxy, its exit or its identity.
func (m *Manager) publishUpdate(r *run) { m.publish(r, "run.updated", runEvent{r.profileID, r.id}) }
