package main

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"warren/identity"
)

// This file holds what a start answers.

// RunJSON is a run as everyone who may read sees it.
type RunJSON struct {
	ID              string        `json:"id" doc:"The profile's id, as profileId."`
	ProfileID       string        `json:"profileId"`
	WorkspaceID     string        `json:"workspaceId"`
	RunID           string        `json:"runId" doc:"This life of the profile's browser, from start to exit."`
	Status          string        `json:"status" enum:"running,stopping"`
	Reused          bool          `json:"reused" doc:"The browser ran already."`
	StartedAt       time.Time     `json:"startedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	ExpiresAt       *time.Time    `json:"expiresAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"When maxRunMs ends it." example:"2026-11-21T14:06:00.000Z"`
	PID             int           `json:"pid" doc:"The browser's main process."`
	Headless        bool          `json:"headless"`
	Browser         browserJSON   `json:"browser"`
	Requested       requestedJSON `json:"requested"`
	Effective       effectiveJSON `json:"effective"`
	Proxy           *exitJSON     `json:"proxy" doc:"The proxy and where it comes out; null: direct."`
	Isolation       isolationJSON `json:"isolation"`
	DebuggerAddress *string       `json:"debuggerAddress" doc:"host:port for Selenium, in 127.77.0.0/16 (127.0.0.1 where the system has no other); only when debugPort asked for it."`
	Pending         []string      `json:"pending" doc:"Members of the profile that were changed since and wait for the next start."`
	Warnings        []warningJSON `json:"warnings"`
}

// startJSON is start's answer: the run, and how to drive it.
type startJSON struct {
	RunJSON
	WsEndpoint string `json:"wsEndpoint" doc:"For puppeteer.connect and other CDP clients. It carries a capability that opens this run alone, with the rights of the key that asked, and ends with either."`
	CdpURL     string `json:"cdpUrl" doc:"For Playwright's connectOverCDP."`
	LiveURL    string `json:"liveUrl" doc:"The live view, a page. What stands behind # is the capability."`

	run   *profileRun // whose answer it is, where one is asked for
	known bool        // its process has told of itself: false until that of an earlier server does
}

type browserJSON struct {
	Product string `json:"product" example:"Chromium"`
	Version string `json:"version" example:"156.0.8078.79"`
	Path    string `json:"path" example:"/usr/lib/chromium/chromium"`
	Match   string `json:"match" enum:"exact,nearest" doc:"Whether it is of the declared major version."`
}

type requestedJSON struct {
	OS             string `json:"os"`
	BrowserVersion string `json:"browserVersion"`
}

type effectiveJSON struct {
	OS             string           `json:"os"`
	BrowserVersion string           `json:"browserVersion"`
	UserAgent      string           `json:"userAgent"`
	Timezone       string           `json:"timezone"`
	Locale         []string         `json:"locale" doc:"As navigator.languages shows it. Empty in a dryRun where only the browser knows."`
	Geolocation    jsontext.Value   `json:"geolocation" doc:"A position, off, or null: the page asks as Chrome does."`
	Screen         *identity.Screen `json:"screen" doc:"null: the display's; 1440 x 900 where there are no windows."`
	WebRTC         string           `json:"webrtc"`
}

type exitJSON struct {
	ID        string     `json:"id"`
	Type      string     `json:"type"`
	Fallback  bool       `json:"fallback" doc:"It is one of fallbackProxyIds, and in use since those before it were dead."`
	ExitIP    *string    `json:"exitIp"`
	Country   *string    `json:"country"`
	Timezone  *string    `json:"timezone"`
	LatencyMs *int64     `json:"latencyMs"`
	CheckedAt *time.Time `json:"checkedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
}

type isolationJSON struct {
	Network string `json:"network" enum:"namespace,loopback"`
	Files   string `json:"files" enum:"namespace,guard" doc:"namespace: the kernel hides the data folder and other runs from this one. guard: commands of clients that lead there are refused."`
	Sandbox bool   `json:"sandbox" doc:"Whether Chrome's own sandbox is on."`
}

type warningJSON struct {
	Code    string `json:"code" example:"sandbox_off"`
	Message string `json:"message"`
}
