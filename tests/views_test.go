package tests

import (
	"slices"
	"time"
)

// problemView is why an operation was refused (RFC 9457).
type problemView struct {
	Code, Detail string
	Errors       []struct{ Location, Message string }
	ExitCode     *int
	Lines        []string
	Check        *struct {
		OK    bool
		Error *struct{ Code string }
	}
	Damaged   []struct{ File, Problem string }
	Snapshots []snapshotView
}

// The views are what a client reads of the answers.
type runView struct {
	ProfileID, ProfileName      string
	RunID, Status               string
	WsEndpoint, CdpURL, LiveURL string
	Reused, Headless            bool
	PID                         int
	DebuggerAddress, ExpiresAt  *string
	Proxy                       *struct {
		ID     string
		ExitIP *string
	}
	Isolation struct {
		Network, Files string
		Sandbox        bool
	}
	Warnings []struct{ Code, Message string }
}

type lastRunView struct {
	RunID, Status, Reason, Method, Signal string
	ExitCode                              int
	Lines                                 []string
	BytesDown                             int64
}

type profileView struct {
	ID, Name, Status      string
	BrowserVersion, Notes string
	ProxyID               *string
	Run                   *runView
	LastRun               *lastRunView
}

// pastRunView is a run of a profile's history.
type pastRunView struct {
	RunID, Status string
	EndedAt       *time.Time
	Reason        *string
	BytesDown     *int64
	Headless      *bool
	Browser       struct{ Version string }
	Proxy         *struct{ ID string }
	Usage         *usageView
}

// usageView is what a run uses. A member is nil where the system does not tell it.
type usageView struct {
	CPUPercent                      *float64
	CPUMs, MemoryBytes, OwnBytes    *int64
	MemoryKind                      *string
	Processes                       *int
	BytesUp, BytesDown, Connections int64
	RefusedByRules                  int64
	Clients, Viewers                int
}

type stopView struct {
	Stopped        bool
	Status, Method string
	LastRun        *lastRunView
}

func (r runView) warned(code string) bool {
	return slices.ContainsFunc(r.Warnings, func(w struct{ Code, Message string }) bool { return w.Code == code })
}
