package main

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/identity"
	"warren/pool"
	"warren/problem"
	"warren/shim"
	"warren/store"
)

// This file holds the examples of the OpenAPI document: of each request, of each answer, and of each error by its code. They are made
// of the types that the API answers with, and a test holds each one to its schema.

const (
	exampleProfileID = "0199a1c2-7d3e-7a10-8a55-0123456789ab"
	exampleProxyID   = "0199a1c2-7d3e-7a10-8a55-0123456789cd"
	exampleRunID     = "0199a1c2-7d3e-7a10-8a55-0123456789ef"
)

// addExamples completes an operation: what it is asked, what it answers, and how it fails.
func addExamples(path string, op *huma.Operation) {
	if op.RequestBody != nil {
		if media := op.RequestBody.Content["application/json"]; media != nil {
			media.Example = plain(requestExample(op.OperationID))
		}
	}
	for status, response := range op.Responses {
		code, err := strconv.Atoi(status)
		if media := response.Content["application/json"]; media != nil && err == nil && code < 300 {
			media.Example = plain(answerExample(op.OperationID))
		}
		if media := response.Content["application/problem+json"]; media != nil {
			media.Examples = problemExamples(path, op.OperationID, code)
		}
	}
}

// plain makes v what any JSON library writes alike: some types know only one.
func plain(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err) // the examples are constant; a test reads them
	}
	return out
}

// requestExample is a body as interface.md sends it, or a useful one where it sends none.
func requestExample(operation string) any {
	switch operation {
	case "createProfile":
		return map[string]any{"name": "Shop, Berlin", "os": "win", "browserVersion": "156", "workspaceId": "default", "tags": []string{"shop", "de"}, "proxyId": exampleProxyID}
	case "updateProfile", "patchProfile":
		return map[string]any{"name": "Shop, Hamburg", "tags": []string{"shop", "hh"}}
	case "startProfile", "restartProfile":
		return map[string]any{"headless": true, "startUrls": []string{"https://example.com/"}}
	case "stopProfile":
		return map[string]any{"force": false}
	case "batchProfiles":
		return map[string]any{"action": "start", "ids": []string{exampleProfileID}}
	case "leakTest":
		return map[string]any{"timeoutMs": leakTestTime.Milliseconds()}
	case "addProxy", "checkUnsavedProxy":
		return map[string]any{"workspaceId": "default", "type": "socks5", "host": "de.proxy.example", "port": 1080, "username": "alice", "password": "secret"}
	case "checkAllProxies":
		return map[string]any{"tag": "de"}
	case "importProxies":
		return map[string]any{"workspaceId": "default", "proxies": []any{"nl.proxy.example:1080:alice:secret",
			map[string]any{"type": "http", "host": "fr.proxy.example", "port": 3128, "tags": []string{"fr"}}}}
	case "updateProxy", "patchProxy":
		return map[string]any{"host": "de2.proxy.example", "name": "Berlin 2"}
	case "createCapability":
		return map[string]any{"name": "the client in Lyon", "readonly": true, "expiresInMs": 3600000}
	case "createTicket":
		return map[string]any{"path": apiPrefix + "/profiles/" + exampleProfileID + "/live"}
	case "createKey":
		return map[string]any{"name": "ci", "scopes": []string{"read", "run"}, "workspaces": []string{"default"}, "expiresAt": "2027-01-31T00:00:00Z"}
	}
	return map[string]any{}
}

// answerExample is what the operation answers when all is well.
func answerExample(operation string) any {
	switch operation {
	case "createProfile", "getProfile", "updateProfile", "patchProfile", "restoreProfile":
		return exampleProfile()
	case "listProfiles":
		return exampleList(exampleProfile())
	case "startProfile", "restartProfile":
		return exampleStart()
	case "failbackProfile":
		return exampleStart().RunJSON
	case "listRunHosts":
		return runHostsJSON{RunID: exampleRunID, Data: []runHostJSON{{"example.com", 4, 2210, 81920, 0, exampleTime(), exampleTime().Add(time.Minute)}}}
	case "proxyTraffic", "profileTraffic":
		return trafficJSON{TrafficSums{48213, 1903422, 61}, []trafficRowJSON{{Day: "2026-11-21", TrafficSums: TrafficSums{48213, 1903422, 61}}}}
	case "explainProfile":
		return exampleExplain()
	case "batchProfiles":
		start := exampleStart()
		return batchJSON{[]batchResultJSON{{ID: exampleProfileID, Status: 200, Run: &start}}}
	case "stopProfile":
		return stopJSON{ID: exampleProfileID, Stopped: true, Status: "stopped", Method: "close", LastRun: exampleLastRun()}
	case "leakTest":
		return leakTestJSON{Passed: true, Isolation: isolationJSON{Network: "namespace", Files: "namespace", Sandbox: true}, Warnings: []warningJSON{}, StartedAt: exampleTime(), DurationMs: 11240,
			Channels: []leakChannelJSON{{"http", true, "nothing beside the relay in 221 tries; 11 of 11 through it arrived"}, {"stun_udp", true, "nothing beside the relay in 6 tries"}}}
	case "listDownloads":
		return exampleList(exampleDownload())
	case "listRuns":
		return exampleList(listedRunJSON{RunJSON: exampleStart().RunJSON, Usage: &usageJSON{CPUPercent: new(3.4), CPUMs: new(int64(5210)), MemoryBytes: new(int64(214 << 20)),
			MemoryKind: new("pss"), OwnBytes: new(int64(7 << 20)), Processes: new(9), BytesUp: 81920, BytesDown: 4 << 20, Connections: 6, Clients: 1}})
	case "listProfileRuns":
		start, last := exampleStart(), exampleLastRun()
		return exampleList(pastRunJSON{RunID: last.RunID, Status: last.Status, StartedAt: last.StartedAt, EndedAt: &last.EndedAt, DurationMs: last.DurationMs, Reason: &last.Reason, Method: last.Method,
			ExitCode: &last.ExitCode, BytesUp: &last.BytesUp, BytesDown: &last.BytesDown, ByRules: &last.ByRules, Headless: &start.Headless, Browser: &start.Browser, Proxy: start.Proxy})
	case "getPressure":
		return pressureJSON{Accepting: true, Running: 12, Starting: 1, MaxRunning: new(30), MaxStarting: 2, MaxQueue: 1000, CPU: cpuJSON{2, new(0.8), new(31.5)},
			Memory: &memoryJSON{8 << 30, 5 << 30}, Disk: &diskJSON{120 << 30}}
	case "addProxy", "getProxy", "updateProxy", "patchProxy":
		return exampleProxy()
	case "proxySecret":
		return secretJSON{Password: new("secret")}
	case "listAudit":
		return exampleList(auditJSON{ID: exampleRunID, At: exampleTime(), KeyID: exampleProfileID, KeyName: "ci", WorkspaceID: new("default"), Action: "proxies.export",
			Remote: "203.0.113.7", RequestID: exampleRunID, Detail: map[string]any{"count": 12, "format": "csv", "secrets": true, "tag": []string{"shop"}}})
	case "importProxies":
		return importJSON{Created: 1, Ambiguous: 1, Results: []importResultJSON{{Line: 1, Result: "created", ID: new(exampleProxyID), Readings: []string{}},
			{Line: 2, Result: "ambiguous", Reason: new("can be read in more than one way: write it as scheme://user:password@host:port"),
				Readings: []string{"socks5://alice:***@192.0.2.1:***", "socks5://192.0.2.1:***@alice:***"}}}}
	case "listProxies":
		return exampleList(exampleProxy())
	case "checkProxy":
		return exampleCheck()
	case "rotateProxy":
		c := exampleCheck()
		c.ExitChanged = true
		return rotateJSON{ID: exampleProxyID, Changed: true, Before: new("203.0.113.8"), ExitIP: c.ExitIP, Check: &c, DurationMs: 6120}
	case "listProxyChecks":
		return exampleList(exampleCheck())
	case "checkUnsavedProxy":
		c := exampleCheck()
		c.ID, c.UsedByProfiles = nil, []string{}
		return c
	case "createKey":
		k := exampleKey()
		k.Key = "wrn_" + strings.Repeat("0", 43) + keyChecksum(strings.Repeat("0", 43))
		return k
	case "createCapability":
		return madeCapabilityJSON{CapabilityJSON: exampleCapability(), LiveURL: "http://127.0.0.1:7777/live#CAPABILITY"}
	case "listCapabilities":
		return exampleList(exampleCapability())
	case "createTicket":
		return ticketJSON{Ticket: "TICKET", ExpiresAt: exampleTime().Add(30 * time.Second)}
	case "listKeys":
		return exampleList(exampleKey())
	case "listBrowsers":
		return exampleList(browserListJSON{Path: "/usr/lib/chromium/chromium", Product: "Chromium", Version: "156.0.8078.79", Major: 156, Source: "default"})
	case "listWorkspaces":
		return exampleList(workspaceJSON{ID: "default", ProfileCount: 12, TrashedCount: 1, ProxyCount: 3, CreatedAt: exampleTime()})
	}
	return nil
}

// exampleLine is a line of a stream.
func exampleLine(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // as in plain
	}
	return string(text) + "\n"
}

func exampleList[T any](v T) list[T] { return list[T]{Data: []T{v}, Total: 1, Page: 1, Limit: 20} }

func exampleProfile() profileJSON {
	return profileJSON{ID: exampleProfileID, WorkspaceID: "default", Name: "Shop, Berlin", OS: "win", BrowserVersion: "156", Tags: `["shop","de"]`,
		ProxyID: new(exampleProxyID), FallbackProxyIDs: "[]", FallbackCountry: "same", LocalhostVia: "[]", AllowHosts: "[]", DenyHosts: `["ads.example"]`, StartURLs: `["https://example.com/"]`, Timezone: "auto", Locale: "auto", Geolocation: "auto", WebRTC: "proxy_only", BackgroundTraffic: "refuse", AllowLocal: "[]", Consistency: "warn",
		Status: "stopped", LastRun: exampleLastRun(), LastStartedAt: new(exampleTime()), DiskBytes: 12582912, CreatedAt: exampleTime(), UpdatedAt: exampleTime()}
}

func exampleLastRun() *lastRunJSON {
	return &lastRunJSON{RunID: exampleRunID, StartedAt: exampleTime(), EndedAt: exampleTime().Add(time.Minute), DurationMs: 60000, Status: "stopped", Reason: "stopped",
		Method: "close", BytesUp: 48213, BytesDown: 1903422}
}

func exampleStart() startJSON {
	return startJSON{WsEndpoint: "ws://127.0.0.1:7777/cdp/CAPABILITY", CdpURL: "http://127.0.0.1:7777/cdp/CAPABILITY", LiveURL: "http://127.0.0.1:7777/live#CAPABILITY",
		RunJSON: RunJSON{ID: exampleProfileID, ProfileID: exampleProfileID, WorkspaceID: "default", RunID: exampleRunID, Status: "running", StartedAt: exampleTime(),
			PID: 4711, Headless: true, Browser: browserJSON{"Chromium", "156.0.8078.79", "/usr/lib/chromium/chromium", "exact"}, Requested: requestedJSON{"linux", "156"},
			Effective: effectiveJSON{OS: "linux", BrowserVersion: "156", UserAgent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
				Timezone: "Europe/Berlin", Locale: []string{"de-DE", "de", "en-US", "en"}, Geolocation: jsontext.Value("null"), WebRTC: "proxy_only"},
			Proxy: &exitJSON{ID: exampleProxyID, Type: "socks5", ExitIP: new("203.0.113.7"), Country: new("DE"), Timezone: new("Europe/Berlin"),
				LatencyMs: new(int64(84)), CheckedAt: new(exampleTime())},
			Isolation: isolationJSON{Network: "namespace", Files: "namespace", Sandbox: true}, Pending: []string{}, Warnings: []warningJSON{}}}
}

func exampleExplain() explanation {
	told := "It is auto, and the check of " + exampleTime().Format("2006-01-02T15:04:05.000Z") + " tells it."
	return explanation{ID: exampleProfileID, Status: "stopped", Consistency: "warn", Effective: identity.Settings{
		OS:             identity.Setting{Value: "linux", Source: identity.FromProfile, Detail: "It is this machine's own: nothing of it is emulated."},
		BrowserVersion: identity.Setting{Value: "156", Source: identity.ByDefault, Detail: "That of the browser that runs."},
		Timezone:       identity.Setting{Value: "Europe/Berlin", Source: identity.FromExit, Detail: told}, Locale: identity.Setting{Value: []string{"de-DE", "de", "en-US", "en"}, Source: identity.FromExit, Detail: told},
		Geolocation: identity.Setting{Value: nil, Source: identity.ByDefault, Detail: "It is auto, and the check told no position: pages ask, as Chrome does."},
		Screen:      identity.Setting{Value: nil, Source: identity.ByDefault, Detail: "The browser's own."}, WebRTC: identity.Setting{Value: "proxy_only", Source: identity.FromProfile, Detail: ""}},
		Browser: new(exampleStart().Browser), Exit: exampleStart().Proxy, Findings: []identity.Mismatch{}, Pending: []string{}, Differences: identity.Detectable(identity.Values{}, 156)}
}

func exampleProxy() proxyJSON {
	return proxyJSON{ID: exampleProxyID, WorkspaceID: "default", Type: "socks5", Host: "de.proxy.example", Port: 1080, Username: "alice", HasPassword: true,
		Name: "Berlin", Tags: `["de"]`, Status: "alive", ProfileCount: 1, Latency: &pool.Latency{P50Ms: 182, P95Ms: 411, Count: 97}, Uptime: new(1.0), LastCheck: new(exampleCheck()), CreatedAt: exampleTime(), UpdatedAt: exampleTime()}
}

func exampleCheck() pool.Check {
	return pool.Check{ID: new(exampleProxyID), OK: true, Status: "alive", ExitIP: new("203.0.113.7"), IPVersion: new(4), Country: new("DE"), CountryName: new("Germany"),
		Timezone: new("Europe/Berlin"), TimezoneSource: new("exit"), Locale: new("de-DE"), Latitude: new(52.52), Longitude: new(13.4), GeoSource: new("answer"), LatencyMs: new(int64(84)), PlainHTTP: new(true), RemoteDNS: true, UsedByProfiles: []string{exampleProfileID},
		Timings:   pool.Timings{ResolveMs: new(int64(3)), ConnectMs: new(int64(21)), HandshakeMs: new(int64(22)), FirstByteMs: new(int64(41))},
		CheckedAt: exampleTime(), DurationMs: 92}
}

func exampleCapability() CapabilityJSON {
	return CapabilityJSON{ID: exampleProfileID, ProfileID: exampleProfileID, RunID: exampleRunID, Name: "the client in Lyon", Readonly: true,
		CreatedAt: exampleTime(), ExpiresAt: new(exampleTime().Add(time.Hour))}
}

func exampleKey() keyJSON {
	return keyJSON{ID: exampleProfileID, Name: "ci", Hint: "wrn_0000", Scopes: []store.Right{scopeRead, scopeRun}, Workspaces: []string{"default"},
		ExpiresAt: new(millis(1801353600000)), CreatedAt: exampleTime()}
}

// problemExamples names the errors of a status by their code, as this operation has them. Status 0 is any. The examples themselves
// stand once, in the document's components.
func problemExamples(path, operation string, status int) map[string]*huma.Example {
	out := map[string]*huma.Example{}
	for _, p := range slices.Concat(generalProblems(path), operationProblems(operation)) {
		if statuses[p.Kind] == status || status == 0 && p.Code == "unauthorized" {
			out[p.Code] = &huma.Example{Ref: "#/components/examples/" + p.Code}
		}
	}
	return out
}

// allProblemExamples are the errors that the operations name.
func allProblemExamples() map[string]*huma.Example {
	out := map[string]*huma.Example{}
	for _, path := range []string{"/profiles", "/proxies", "/keys", "/runs"} {
		for _, operation := range []string{"createProfile", "addProxy", "deleteProxy", "startProfile", "createCapability", "revokeCapability", "screenshotProfile", "createTicket", "leakTest", "rotateProxy", "deleteDownload"} {
			for _, p := range slices.Concat(generalProblems(path), operationProblems(operation)) {
				answer := shown(p)
				answer.Instance = "urn:warren:request:0199a1c2-7d3e-7a10-8a55-00000000000a"
				out[p.Code] = &huma.Example{Summary: p.Message, Value: plain(answer)}
			}
		}
	}
	return out
}

// generalProblems are those that every operation may meet.
func generalProblems(path string) []*problem.Error {
	kind := map[string]string{"profiles": "profile", "proxies": "proxy", "keys": "key", "runs": "run"}[strings.Split(path, "/")[1]]
	var out []*problem.Error
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType} {
		out = append(out, refusedByHuma(status))
	}
	out[0].Faults = []problem.Fault{{Location: "body", Message: `invalid character 'n' at start of value after offset 12`}}
	return append(out, unauthorized(), tooManyGuesses(30*time.Second), (&caller{}).may(scopeWrite), foreignOrigin(), problem.Missing(kind), etagMismatch(), cursorGone(), foreignHost(),
		problem.NotValid(problem.Fault{Location: "body.name", Message: "must have 1 to 200 characters, after spaces at both ends are cut; it has 0"},
			problem.Fault{Location: "query.limit", Message: "expected number <= 200", Value: 500}),
		problem.Hidden(nil), databaseBusy(nil), problem.DiskFull(nil))
}

// operationProblems are those of one operation.
func operationProblems(operation string) []*problem.Error {
	switch operation {
	case "createProfile", "createKey", "restoreProfile", "importProxies":
		return []*problem.Error{idempotencyConflict()}
	case "addProxy":
		return []*problem.Error{pool.IsDuplicate(exampleProxyID), idempotencyConflict()}
	case "updateProxy", "patchProxy":
		return []*problem.Error{pool.IsDuplicate(exampleProxyID)}
	case "deleteProxy":
		return []*problem.Error{pool.InUse([]string{exampleProfileID})}
	case "startProfile", "restartProfile":
		dead := exampleCheck()
		dead.OK, dead.Status, dead.ExitIP, dead.LatencyMs, dead.IPVersion = false, "dead", nil, nil, nil
		dead.Error = &pool.CheckError{Stage: "connect", Code: "connection_refused", Message: "Nobody listens at the proxy's address."}
		unreachable := problem.New(problem.Upstream, "proxy_unreachable", "The profile's proxy does not work, so the browser was not started.").With(&dead)
		return slices.Concat([]*problem.Error{unreachable,
			identityMismatch([]identity.Mismatch{{Code: "timezone_mismatch", Location: "profile.timezone", Message: "is Asia/Tokyo, and the proxy comes out in Europe/Berlin, where clocks show another time. Set it to auto or to Europe/Berlin."}}),
			browserTooOld("156.0.8078.79", 156, shim.Installed{Product: "Chromium", Version: "150.0.7871.100"}),
			cancelledStart(), pool.PasswordUnreadable(nil), idempotencyConflict(), noProxyToPick()}, noBrowserProblems())
	case "stopProfile":
		return []*problem.Error{cannotEnd()}
	case "proxySecret":
		return []*problem.Error{pool.PasswordUnreadable(nil)}
	case "failbackProfile":
		return []*problem.Error{notRunning()}
	case "rotateProxy":
		return []*problem.Error{pool.NoRotateURL(), pool.RotateFailed("answered with HTTP status 500"), pool.RotatedLately(10*time.Second, 0)}
	case "createCapability":
		return []*problem.Error{notRunning(), capabilityLimit(), idempotencyConflict()}
	case "revokeCapability":
		return []*problem.Error{problem.Missing("capability"), capabilityBusy(nil)}
	case "screenshotProfile", "printProfile":
		return []*problem.Error{notRunning(), noPicture("no_tab"), noPicture("no_page"), noPicture("not_answering"), noPicture("refused")}
	case "listDownloads":
		return []*problem.Error{startsJustNow()}
	case "deleteDownload":
		return []*problem.Error{startsJustNow(), noDownload()}
	case "createTicket":
		return []*problem.Error{tooManyTickets()}
	case "leakTest":
		return noBrowserProblems()
	}
	return nil
}

// noBrowserProblems are those of whatever starts a browser.
func noBrowserProblems() []*problem.Error {
	failed := problem.New(problem.Unavailable, "browser_failed", "The browser ended while it started. `exitCode` and `lines` say how; `warren doctor` looks for the cause.")
	failed.Details = LastWords{new(127), []string{"error while loading shared libraries: libnss3.so"}}
	return []*problem.Error{
		problem.New(problem.Conflict, "proxy_missing", "The profile's proxy was deleted while it was in the trash. Set proxyId to a proxy, or to null for a direct connection, then start again."),
		startQueueFull(), failed,
		problem.New(problem.Unavailable, "browser_not_found", "no Chromium was found. Install it with: apt-get install -y chromium"),
		problem.New(problem.Timeout, "start_timeout", "The browser did not take commands in time, and was ended. `lines` holds what it said; --start-timeout gives it longer.")}
}

func exampleTime() time.Time { return time.Date(2026, 11, 21, 14, 6, 0, 0, time.UTC) }
