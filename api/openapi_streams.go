package api

import (
	"strings"
	"warren/problem"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
)

// Describes what huma does not register: paths outside the API, streams, sockets and files.

// serverPath is a path outside the API.
type serverPath struct {
	path, id, summary string
	open              bool
	example           any
}

// serverPaths are the paths outside the API. Those that are open need no key.
var serverPaths = []serverPath{
	{"/healthz", "health", "Check that the server is alive", true, map[string]string{"status": "ok"}},
	{"/readyz", "ready", "Check that the database takes writes and a browser is installed", true,
		map[string]string{"database": "ok", "browser": "ok"}},
	{"/version", "version", "Get the server's version", true, map[string]string{"version": "dev", "commit": "unknown", "go": "go1.26.8"}},
	{"/ip", "ip", "Get the caller's address, as JSON or (Accept: text/plain) as text", true, map[string]string{"ip": "203.0.113.7"}},
	{"/openapi.json", "openapi", "Get this document", false, map[string]string{"openapi": "3.1.0"}},
}

func (b serverPath) operation() *huma.Operation {
	op := plainOperation(b.id, b.summary, "server", &huma.Schema{Type: "object", AdditionalProperties: true}, b.example)
	if b.open {
		op.Security = []map[string][]string{}
	}
	return op
}

func plainOperation(id, summary, tag string, schema *huma.Schema, example any) *huma.Operation {
	problemSchema := &huma.Schema{Ref: "#/components/schemas/Problem"}
	return &huma.Operation{OperationID: id, Summary: summary, Description: summary + ".", Tags: []string{tag},
		Responses: map[string]*huma.Response{
			"200": {Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: schema, Example: example}}},
			"default": {Description: "Error", Content: map[string]*huma.MediaType{"application/problem+json": {Schema: problemSchema,
				Examples: problemExamples([]*problem.Error{unauthorized()}, 0)}}},
		}}
}

func pathParam(name, doc string) *huma.Param {
	return &huma.Param{Name: name, In: "path", Required: true, Description: doc, Schema: &huma.Schema{Type: "string"}}
}

func eventsOperation() *huma.Operation {
	op := plainOperation("streamEvents", "Stream events", "events", nil, nil)
	op.Description = "Server-sent events of the key's workspaces: `profile.*` (`created`, `updated`, `status`, `deleted`, `restored`), " +
		"`run.*` (`started`, `updated`, `expiring`, `fallback`, `ended`), `proxy.*` (`created`, `imported` for a whole list, `updated`, " +
		"`checked`, `all_checked` for many at once, `died`, `returned`, `exit_changed`, `deleted`), `key.*` and `capability.*` " +
		"(`created`, `revoked`).\n\n" +
		"`run.expiring` says that a run will be closed (`endsAt`) because it is `idle` or because of its `maxRun` (`reason`). With " +
		"`endsAt` null it continues after all. `run.fallback` says that a run's proxy (`from`) is dead (`code`), and that the run uses " +
		"another (`to`). `events.lost` comes first if the `Last-Event-ID` is no longer known: read everything again.\n\n" +
		"Something is sent at least every 15 s. A reader that does not keep up is disconnected. One key holds at most a quarter of " +
		"the server's connections for streams, clients, live views, files and single checks: 429 `too_many_connections`.\n\n" +
		"Scope: `read`."
	op.Parameters = []*huma.Param{{Name: "Last-Event-ID", In: "header",
		Description: "The id of the last event received. Later events are sent first. If it is no longer known (too old, or from " +
			"before a restart), `events.lost` is sent.",
		Schema: &huma.Schema{Type: "string"}}}
	op.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{"text/event-stream": {
		Schema: &huma.Schema{Type: "string"},
		Example: "id: 0199a1c2-7d3e-7a10-8a55-0123456789ab\nevent: run.started\ndata: " +
			"{\"id\":\"0199a1c2-7d3e-7a10-8a55-0123456789ab\",\"type\":\"run.started\",\"at\":\"2026-11-21T14:06:00.000Z\"," +
			"\"workspaceId\":\"default\",\"data\":{\"id\":\"0199a1c2-7d3e-7a10-8a55-0123456789aa\"}}\n\n"}}}
	return op
}

func cdpOperation(suffix string) *huma.Operation {
	op := plainOperation("profileCdp"+strings.ReplaceAll(suffix, "/", "_"), "Control a running profile (Chrome DevTools Protocol)", "runs",
		&huma.Schema{}, map[string]string{"Browser": "Chrome/156.0.0.0"})
	op.Description = "With an upgrade: the browser's socket. Below it are `json/version`, `json/list`, `json/protocol`, " +
		"`devtools/browser/…` and `devtools/page/…`, as Chrome has them. Every address in them is rewritten to the one that the " +
		"client used.\n\nScope: `run`."
	op.Parameters = []*huma.Param{pathParam("id", "The profile's id.")}
	return op
}

func capabilityOperation(suffix string) *huma.Operation {
	op := plainOperation("capabilityCdp"+strings.ReplaceAll(suffix, "/", "_"), "Control a run with the capability that start answered",
		"runs", &huma.Schema{}, map[string]string{"Browser": "Chrome/156.0.0.0"})
	op.Description = "The same as `/profiles/{id}/cdp`, without a key. The capability in `wsEndpoint` and `cdpUrl` opens one run and " +
		"ends with it."
	op.Parameters = []*huma.Param{pathParam("capability", "256 bits, from start's answer.")}
	op.Security = []map[string][]string{}
	return op
}

func liveOperation(suffix string) *huma.Operation {
	id, summary := "profileLive", "Watch and control a running profile (WebSocket)"
	if suffix != "" {
		id, summary = "profileLiveDownload", "Get a file that the profile's browser downloaded"
	}
	op := plainOperation(id, summary, "runs", nil, nil)
	op.Description = "The live view: frames out, input in (docs/live.md). With `readonly=1` it only watches.\n\nScope: `run`."
	op.Parameters = []*huma.Param{pathParam("id", "The profile's id.")}
	op.Responses["101"] = &huma.Response{Description: "The socket is open."}
	delete(op.Responses, "200")
	if suffix != "" {
		op.Description = "A file that the browser of this run downloaded, by the id that the live view sent. It is available until the " +
			"run ends.\n\nScope: `run`."
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
	op.Description = "The same as `/profiles/{id}/live`, without a key. The capability in `liveUrl` opens one run and ends with it. " +
		"A `readonly` one only watches."
	op.Parameters[0] = pathParam("capability", "256 bits, from start's answer or from a capability's.")
	op.Security = []map[string][]string{}
	return op
}

// showPictures sets the media types of answers that are not JSON.
func showPictures(o *huma.OpenAPI) {
	bytes := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}, Example: "the bytes"}
	o.Paths["/profiles/{id}/screenshot"].Get.Responses["200"].Content = map[string]*huma.MediaType{"image/png": bytes, "image/jpeg": bytes,
		"image/webp": bytes}
	o.Paths["/proxies/check-all"].Post.Responses["200"].Content = map[string]*huma.MediaType{"application/x-ndjson": {
		Schema: &huma.Schema{Type: huma.TypeString,
			Description: "A line for each proxy: a JSON object as `POST /proxies/{id}/check` answers it."},
		Example: exampleLine(exampleCheck())}}
	o.Paths["/profiles/{id}/pdf"].Get.Responses["200"].Content = map[string]*huma.MediaType{"application/pdf": bytes}
}

// exampleLine returns v as a line of a stream.
func exampleLine(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // as in plain
	}
	return string(text) + "\n"
}
