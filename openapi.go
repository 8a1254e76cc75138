package main

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/store"
)

// This file describes the API beyond what the code says by itself: tags, errors, examples, and what stands beside the API.

// describeAPI fills in the head of the OpenAPI document.
func describeAPI(o *huma.OpenAPI) {
	o.Info.Description = "Warren keeps browser profiles and proxies, and runs each profile's Chrome behind its proxy, so that nothing gets out beside it.\n\n" +
		"Every request carries `Authorization: Bearer <API_KEY>`. Every error is `application/problem+json` (RFC 9457): `code` is for programs and never changes, `detail` is for people, `errors` names every fault at once."
	o.Servers = []*huma.Server{{URL: apiPrefix, Description: "this server"}}
	o.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer",
		Description: "An API key, as `warren key create` makes it."}}
	o.Security = []map[string][]string{{"key": {}}}
	o.Tags = []*huma.Tag{{Name: "profiles"}, {Name: "proxies"}, {Name: "audit"}, {Name: "runs"}, {Name: "browsers"}, {Name: "keys"}, {Name: "tickets"}, {Name: "workspaces"}, {Name: "events"}, {Name: "server", Description: "Beside the API."}}
}

// describeOperation adds what every operation has: its tag, its errors, the scope that it needs.
func describeOperation(op *huma.Operation, sc store.Right) {
	op.Tags = []string{strings.Split(op.Path, "/")[1]}
	op.Description = descriptions[op.OperationID] + "\n\nScope: `" + string(sc) + "`."
	op.Description = strings.TrimSpace(op.Description)
	errs := map[int]bool{401: true, 403: true, 421: true, 422: true, 429: true, 500: true}
	if strings.Contains(op.Path, "{id}") {
		errs[404] = true
	}
	if op.Method == http.MethodPost || op.Method == http.MethodPut || op.Method == http.MethodPatch {
		errs[400], errs[413], errs[415] = true, true, true
	}
	if op.Method != http.MethodGet {
		errs[503], errs[507] = true, true
	}
	for _, status := range moreErrors[op.OperationID] {
		errs[status] = true
	}
	op.Errors = slices.Sorted(maps.Keys(errs))
	if op.Method == http.MethodPost && op.OperationID[:6] == "create" || op.OperationID == "addProxy" {
		op.DefaultStatus = http.StatusCreated
	}
	if op.Method == http.MethodDelete {
		op.DefaultStatus = http.StatusNoContent
	}
}

// moreErrors are the errors of single operations.
var moreErrors = map[string][]int{
	"createProfile": {409}, "addProxy": {409}, "createKey": {409}, "importProxies": {409}, "restoreProfile": {409},
	"updateProfile": {412}, "patchProfile": {412}, "updateProxy": {409, 412}, "patchProxy": {409, 412},
	"deleteProfile": {412}, "deleteProxy": {409, 412}, "startProfile": {409, 429, 502, 504}, "restartProfile": {409, 429, 502, 504}, "createCapability": {409}, "failbackProfile": {409}, "listRunHosts": {404}, "createTicket": {429}, "revokeCapability": {409}, "leakTest": {409, 429, 504},
	"listProfiles": {410}, "listProxies": {410}, "listProfileRuns": {410}, "listCapabilities": {410}, "listKeys": {410}, "listWorkspaces": {410}, "listAudit": {410},
	"listDownloads": {409, 410}, "stopProfile": {409}, "proxySecret": {409}, "deleteDownload": {409}, "screenshotProfile": {409, 503, 504}, "printProfile": {409, 503, 504}, "rotateProxy": {409, 429, 502},
}

// descriptions say what a summary cannot.
var descriptions = map[string]string{
	"listProfiles":      "Newest first. `total` is exact. For long walks take `after` instead of `page`, with `next` of the page before: it costs the same at every depth, and goes on also when objects are deleted or trashed meanwhile.",
	"createProfile":     "Takes `Idempotency-Key`: the same key and body within 24 hours gives the first answer again. Refusals (401, 403, 413, 415, 422), 409, 429 and 5xx are not kept, nor are answers of more than 64 KiB; of one API key the newest 1,000 answers are.",
	"updateProfile":     "Merges: a member that is absent stays, `null` returns it to its default. While the profile runs a new timezone, locale, geolocation, proxy or list of hosts takes effect at once, but for the locale `system`; `run.pending` names what waits for the next start. Connections that are open stay on the old proxy; with `cut=true` they are ended.",
	"patchProfile":      "Merges: a member that is absent stays, `null` returns it to its default. While the profile runs a new timezone, locale, geolocation, proxy or list of hosts takes effect at once, but for the locale `system`; `run.pending` names what waits for the next start. Connections that are open stay on the old proxy; with `cut=true` they are ended.",
	"deleteProfile":     "Puts the profile and its data into the trash; `permanent=true` removes both now, also out of the trash. A running profile is stopped first, and the answer comes when its browser is gone.",
	"startProfile":      "Answers when the browser takes commands. With `consistency` block it is refused (422 `identity_mismatch`) where the profile contradicts its exit. A profile that runs already gives the same run again, with `reused`. The addresses are the key's own: they carry its rights (without the scope `files` uploads and downloads stay in the run's own folder), another key gets others, and they end with the key, with the run, and with a server that has not the key any more. No body is needed. Takes `Idempotency-Key`.",
	"restartProfile":    "A graceful stop and a start in one: tabs and cookies are kept, and the settings are those of now. What would refuse the start refuses it before anything ends. Of a profile that does not run it is a start; a start or a restart that is under way is joined, with `reused`. A stop that comes meanwhile wins: 409 `profile_busy`. The place among `--max-running` is kept. Takes `Idempotency-Key`.",
	"failbackProfile":   "Of a run that goes on through one of `fallbackProxyIds`: new connections go through the profile's own proxy again. Nothing else takes it back but a change of `proxyId`.",
	"listRunHosts":      "Of a run whose profile has `logHosts`, while it goes on and as long as the profile's history keeps it. 1,000 names at most; `notKept` counts the requests for others. `logged` false: nothing was kept.",
	"proxyTraffic":      "Payload, without what proxies and their protocols add, by day (UTC), profile or run; kept for 400 days, also of profiles that are gone. What runs is asked first.",
	"profileTraffic":    "Payload, without what proxies and their protocols add, by day (UTC), proxy or run; kept for 400 days. What runs is asked first.",
	"listDownloads":     downloadsDescription,
	"deleteDownload":    deleteDownloadDescription,
	"stopProfile":       "Closes the browser gracefully and answers when it is gone: cookies are on disk. `force` kills it.",
	"createCapability":  "For who gets no key: it opens this one run, by addresses that carry a secret of 256 bits, until it expires, is revoked, or the run or this key ends. It may no more than this key, and uses files of the machine only with `files`, which needs the scope of that name (403). With `readonly` it opens the live view alone, to watch. At most 100 at a time. The addresses are in this answer alone. No body is needed. Takes `Idempotency-Key`.",
	"listCapabilities":  "Newest first, without what opens the run. Those that start answers, one for each key that asked, are none of the list. Those that are over are not among them; of a profile that does not run there are none.",
	"revokeCapability":  "It opens nothing any more, and every connection that it opened ends at once.",
	"screenshotProfile": "Of the tab in front, or of one that is named, also where it lies behind another. No session of DevTools is opened for it, and the tab stays where it is.",
	"printProfile":      "As the browser prints it to PDF.",
	"explainProfile":    "Of a running profile what its pages see; of another what they would see, as far as it is known without a browser: the exit is the proxy's last good check. `findings` are the contradictions between what is declared and where the proxy comes out (`consistency` says what start does with them), `differences` what a page can tell apart all the same.",
	"leakTest":          "Runs a bundled page in a throw-away profile of the same settings, headless, against canaries on this machine, and judges each channel by what came to them: the profile itself and its run are not touched. One test runs at a time. A channel that could not be tried has not passed. A dead proxy is no leak.",
	"restoreProfile":    "If its proxy was deleted meanwhile the profile has `proxyMissing`, and does not start until `proxyId` is set.",
	"batchProfiles":     "`start`, `stop` and `restart` need the scope `run`, the others `write`: `read` alone does nothing here. Each profile goes the way of the single operation: `results` has one entry per id, in the order given, with the HTTP status that it would have had and its events. Nothing is taken back when others fail. A client that goes away stops nothing half-way.",
	"listRuns":          "What runs now, in the workspaces that the key may see, with what each run uses of the machine. A run whose process does not answer within a second has `usage` null.",
	"listProfileRuns":   "Newest first, the one that goes on included. The last 100 are kept. A start that came to nothing is not among them: the profile's `lastRun` tells of it.",
	"getPressure":       "For who spreads starts over several servers: counts are the whole server's. `accepting` is whether a start would now neither wait for others nor be refused. A start past `maxRunning` waits for a run to end, `queue-timeout` at most (503 `capacity_exceeded`); past `maxQueue` starts are refused at once (429 `start_queue_full`).",
	"checkAllProxies":   "The answer streams: a line per proxy as its check ends, each a check as the single operation answers it (`application/x-ndjson`). `X-Total-Count` says how many lines there will be; an answer that breaks off was not all. Who leaves ends it: what has ended by then is kept. Workspaces take turns, and silent proxies hold nobody up (`--check-at-once`). Of many checks only what has changed is told as an event (`proxy.died`, `proxy.returned`, `proxy.exit_changed`), and `proxy.all_checked` at the end.",
	"rotateProxy":       "Calls the proxy's `rotateUrl` (GET, directly from this machine), waits until a check finds another exit, `--rotate-timeout` at most, and answers what it found. 409 `no_rotate_url` without one, 429 within `--rotate-every` of the last call, 502 `rotate_failed` when the address does not answer with success. Keys without `secrets` may call the address and do not see it. It may lead to this machine or a private network only where proxies may stand there (`--allow-private`). Running profiles follow the new exit.",
	"listProxyChecks":   "Newest first; the last 100 are kept. A change of the address or the credentials forgets them.",
	"listBrowsers":      "Every one that is found, the default one first: it runs profiles that declare no `browserVersion`. A profile that declares one is run by the browser of that major version, else by the nearest newer, else by the newest (start's `browser.match` says which). `warren browser add` and `install` give the server more; no key can.",
	"listProxies":       "Without `page`, `limit` and `after` every proxy that fits the filters is answered. Passwords never are. Filters add up; `total` counts what fits them, exactly. `page` and `after` work in every order.",
	"addProxy":          "As fields, or as one `url`. The password is sealed at rest and never answered.",
	"importProxies":     importDescription,
	"exportProxies":     exportDescription,
	"proxySecret":       "The only way to a saved password but an export with `secrets`. It is written down (GET /audit) before it is answered; when it cannot be written down nothing is told.",
	"listAudit":         "Newest first. Each look at a proxy's password and each export is here: who (the key), what, which, when, from where. Whoever sees some workspaces only sees what was done in one of them.",
	"updateProxy":       "Merges. A new address or new credentials clear `lastCheck`; running profiles use them for new connections, and `runs` says what became of each; with `cut=true` connections through the old address are ended. Another `type`, `host` or `port` needs the `password` again (or null), unless the key has the scope `secrets`: a saved password goes to no other server than the one it was given for.",
	"patchProxy":        "Merges. A new address or new credentials clear `lastCheck`; running profiles use them for new connections, and `runs` says what became of each; with `cut=true` connections through the old address are ended. Another `type`, `host` or `port` needs the `password` again (or null), unless the key has the scope `secrets`: a saved password goes to no other server than the one it was given for.",
	"deleteProxy":       "Refused while a profile uses it: a profile is never sent out directly by a deletion.",
	"checkProxy":        "Goes through the very dialer that browsers go through. 200 also when the proxy is dead: `ok`, `error.stage` and `error.code` tell. The result is kept as `lastCheck`.",
	"checkUnsavedProxy": "The same for a proxy that is not saved; nothing is kept.",
	"createTicket":      "For web pages, whose sockets cannot carry a key: a ticket stands for the key at one upgrade, of exactly this path, within 30 s. It is offered as a subprotocol (`warren.ticket.<ticket>`) beside `warren.live` or `warren.cdp`, which is what the server answers. The socket ends with the key.",
	"createKey":         "`key` is in this answer alone.",
	"listWorkspaces":    "A workspace comes to be when a key that may see all workspaces first uses its id.",
}

// schemaName is what the document calls a type. The types of other packages have had their names for longer than their packages, and clients
// are generated with them.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	switch name {
	case "Mismatch":
		return "FindingJSON"
	case "UDP":
		return "UdpJSON"
	case "Explanation":
		return "ExplainJSON"
	case "Check", "ListCheck", "CheckError", "Timings", "Latency", "Setting", "Settings", "Difference":
		return name + "JSON"
	}
	return name
}

// describe completes the document and freezes it.
func (s *server) describe() []byte {
	o := s.api.OpenAPI()
	for path, item := range o.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil {
				addExamples(path, op)
				for _, p := range op.Parameters {
					p.Schema.PatternDescription = "" // the message is made of it already, and OpenAPI does not know it
				}
			}
		}
	}
	o.Components.Examples = allProblemExamples()
	completeSchemas(o.Components.Schemas)
	root := []*huma.Server{{URL: "/"}}
	for _, b := range besides {
		o.Paths[b.path] = &huma.PathItem{Servers: root, Get: b.operation()}
	}
	o.Paths["/ip"].Get.Responses["200"].Content["text/plain"] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}, Example: "203.0.113.7\n"}
	o.Paths["/events"] = &huma.PathItem{Get: eventsOperation()}
	for _, suffix := range []string{"", "/json/version", "/json/list"} {
		o.Paths["/profiles/{id}/cdp"+suffix] = &huma.PathItem{Get: cdpOperation(suffix)}
		o.Paths["/cdp/{capability}"+suffix] = &huma.PathItem{Servers: root, Get: capabilityOperation(suffix)}
	}
	for _, suffix := range []string{"", "/downloads/{download}"} {
		o.Paths["/profiles/{id}/live"+suffix] = &huma.PathItem{Get: liveOperation(suffix)}
		o.Paths["/live/{capability}"+suffix] = &huma.PathItem{Servers: root, Get: capabilityLiveOperation(suffix)}
	}
	showPictures(o)
	showLists(o)
	showFiles(o)
	doc, err := json.Marshal(o, json.Deterministic(true))
	if err != nil {
		panic(err) // the document is made of plain values; a test reads it
	}
	return doc
}

// showPictures says what answers that are no JSON are.
func showPictures(o *huma.OpenAPI) {
	bytes := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}, Example: "the bytes"}
	o.Paths["/profiles/{id}/screenshot"].Get.Responses["200"].Content = map[string]*huma.MediaType{"image/png": bytes, "image/jpeg": bytes, "image/webp": bytes}
	o.Paths["/proxies/check-all"].Post.Responses["200"].Content = map[string]*huma.MediaType{"application/x-ndjson": {
		Schema:  &huma.Schema{Type: huma.TypeString, Description: "A line for each proxy: a JSON object as `POST /proxies/{id}/check` answers it."},
		Example: exampleLine(exampleCheck())}}
	o.Paths["/profiles/{id}/pdf"].Get.Responses["200"].Content = map[string]*huma.MediaType{"application/pdf": bytes}
}

// completeSchemas says what huma leaves out of a schema: that a pointer to an object or to a time may be null, that null
// is then one of the values, and what a position looks like.
func completeSchemas(schemas huma.Registry) {
	for name, s := range schemas.Map() {
		if t := schemas.TypeFromRef("#/components/schemas/" + name); t.Kind() == reflect.Struct {
			for _, f := range reflect.VisibleFields(t) {
				member, options, _ := strings.Cut(f.Tag.Get("json"), ",")
				if p := s.Properties[member]; p != nil && f.Type.Kind() == reflect.Pointer && options == "" {
					s.Properties[member] = orNullSchema(p)
				}
			}
		}
		for _, p := range s.Properties {
			if p.Nullable && len(p.Enum) > 0 && p.Enum[len(p.Enum)-1] != nil {
				p.Enum = append(p.Enum, nil)
			}
		}
	}
	for _, name := range []string{"EffectiveJSON", "ChangedEffectiveJSON"} {
		effective := schemas.Map()[name].Properties
		shown := geolocation("").Schema(schemas)
		shown.Description = effective["geolocation"].Description
		effective["geolocation"] = shown
	}
	effective := schemas.Map()["EffectiveJSON"].Properties
	shown := screen{}.Schema(schemas)
	shown.Description = effective["screen"].Description
	effective["screen"] = shown // inline, so that null may stand beside it
	delete(schemas.Map(), "Screen")
	setting := schemas.Map()["SettingJSON"].Properties
	setting["value"] = &huma.Schema{Description: setting["value"].Description, AnyOf: []*huma.Schema{{Type: huma.TypeString},
		{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}, {Type: huma.TypeObject, AdditionalProperties: true}, nullSchema()}}
}

// orNullSchema is s, or null.
func orNullSchema(s *huma.Schema) *huma.Schema {
	if s.Ref == "" {
		s.Nullable = true
		return s
	}
	return &huma.Schema{AnyOf: []*huma.Schema{{Ref: s.Ref}, nullSchema()}, Description: s.Description}
}

// beside is what stands beside the API.
type beside struct {
	path, id, summary string
	open              bool
	example           any
}

var besides = []beside{
	{"/healthz", "health", "Whether the server lives", true, map[string]string{"status": "ok"}},
	{"/readyz", "ready", "Whether the database takes writes and a browser is there", true, map[string]string{"database": "ok", "browser": "ok"}},
	{"/version", "version", "The server's version", true, map[string]string{"version": "dev", "commit": "unknown", "go": "go1.26.8"}},
	{"/ip", "ip", "The caller's address, as JSON or (Accept: text/plain) as text", true, map[string]string{"ip": "203.0.113.7"}},
	{"/openapi.json", "openapi", "This document", false, map[string]string{"openapi": "3.1.0"}},
}

func (b beside) operation() *huma.Operation {
	op := plainOperation(b.id, b.summary, "server", &huma.Schema{Type: "object", AdditionalProperties: true}, b.example)
	if b.open {
		op.Security = []map[string][]string{}
	}
	return op
}

func plainOperation(id, summary, tag string, schema *huma.Schema, example any) *huma.Operation {
	problemSchema := &huma.Schema{Ref: "#/components/schemas/Problem"}
	return &huma.Operation{OperationID: id, Summary: summary, Description: summary + ".", Tags: []string{tag}, Responses: map[string]*huma.Response{
		"200":     {Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: schema, Example: example}}},
		"default": {Description: "Error", Content: map[string]*huma.MediaType{"application/problem+json": {Schema: problemSchema, Examples: problemExamples("/", id, 0)}}},
	}}
}

func eventsOperation() *huma.Operation {
	op := plainOperation("streamEvents", "What happens, as it happens", "events", nil, nil)
	op.Description = "Server-sent events of the key's workspaces: `profile.*` (`created`, `updated`, `status`, `deleted`, `restored`), `run.*` (`started`, `updated`, `expiring`, `fallback`, `ended`), `proxy.*` (`created`, `imported` for a whole list, `updated`, `checked`, `all_checked` for many at once, `died`, `returned`, `exit_changed`, `deleted`), `key.*` and `capability.*` (`created`, `revoked`). `run.expiring` says that a run will be closed (`endsAt`) because it is `idle` or for its `maxRun` (`reason`); with `endsAt` null it goes on after all. `run.fallback` says that a run's proxy (`from`) is dead (`code`), and that it goes on through another (`to`). `events.lost` comes first where the `Last-Event-ID` is not known any more: read everything anew. Something is sent at least every 15 s. A reader that does not keep up is cut off. One key holds at most a quarter of the server's connections for streams, clients, live views, files and single checks: 429 `too_many_connections`.\n\nScope: `read`."
	op.Parameters = []*huma.Param{{Name: "Last-Event-ID", In: "header", Description: "The event that was heard last: what came since is told first. When that is not known any more (it is too long ago, or from before a restart), events.lost is.", Schema: &huma.Schema{Type: "string"}}}
	op.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{"text/event-stream": {
		Schema:  &huma.Schema{Type: "string"},
		Example: "id: 0199a1c2-7d3e-7a10-8a55-0123456789ab\nevent: run.started\ndata: {\"id\":\"0199a1c2-7d3e-7a10-8a55-0123456789ab\",\"type\":\"run.started\",\"at\":\"2026-11-21T14:06:00.000Z\",\"workspaceId\":\"default\",\"data\":{\"id\":\"0199a1c2-7d3e-7a10-8a55-0123456789aa\"}}\n\n"}}}
	return op
}

func pathParam(name, doc string) *huma.Param {
	return &huma.Param{Name: name, In: "path", Required: true, Description: doc, Schema: &huma.Schema{Type: "string"}}
}

func cdpOperation(suffix string) *huma.Operation {
	op := plainOperation("profileCdp"+strings.ReplaceAll(suffix, "/", "_"), "Drive a running profile (Chrome DevTools Protocol)", "runs", &huma.Schema{}, map[string]string{"Browser": "Chrome/156.0.0.0"})
	op.Description = "With an upgrade: the browser's socket. Below it `json/version`, `json/list`, `json/protocol`, `devtools/browser/…` and `devtools/page/…`, as Chrome has them, with every address rewritten to the one that the client used.\n\nScope: `run`."
	op.Parameters = []*huma.Param{pathParam("id", "The profile's id.")}
	return op
}

func capabilityOperation(suffix string) *huma.Operation {
	op := plainOperation("capabilityCdp"+strings.ReplaceAll(suffix, "/", "_"), "Drive a run with the capability that start answered", "runs", &huma.Schema{}, map[string]string{"Browser": "Chrome/156.0.0.0"})
	op.Description = "The same as `/profiles/{id}/cdp`, without a key: the capability in `wsEndpoint` and `cdpUrl` opens one run and dies with it."
	op.Parameters = []*huma.Param{pathParam("capability", "256 bits, from start's answer.")}
	op.Security = []map[string][]string{}
	return op
}

func liveOperation(suffix string) *huma.Operation {
	id, summary := "profileLive", "See and work a running profile (WebSocket)"
	if suffix != "" {
		id, summary = "profileLiveDownload", "Fetch a file that the profile's browser downloaded"
	}
	op := plainOperation(id, summary, "runs", nil, nil)
	op.Description = "The live view: frames out, input in, as docs/live.md describes it. `readonly=1` watches only.\n\nScope: `run`."
	op.Parameters = []*huma.Param{pathParam("id", "The profile's id.")}
	op.Responses["101"] = &huma.Response{Description: "The socket is open."}
	delete(op.Responses, "200")
	if suffix != "" {
		op.Description = "A file that the browser of this run downloaded, by the id that the live view named. It ends with the run.\n\nScope: `run`."
		op.Parameters = append(op.Parameters, pathParam("download", "The download's id."))
		delete(op.Responses, "101")
		op.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{"application/octet-stream": {
			Schema: &huma.Schema{Type: "string", Format: "binary"}, Example: "the file"}}}
	}
	return op
}

func capabilityLiveOperation(suffix string) *huma.Operation {
	op := liveOperation(suffix)
	op.OperationID = strings.Replace(op.OperationID, "profile", "capability", 1)
	op.Description = "The same as `/profiles/{id}/live`, without a key: the capability in `liveUrl` opens one run and dies with it. One that is `readonly` watches only."
	op.Parameters[0] = pathParam("capability", "256 bits, from start's answer or from a capability's.")
	op.Security = []map[string][]string{}
	return op
}
