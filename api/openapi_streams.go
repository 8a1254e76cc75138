package api

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"warren/problem"
	"warren/snapshots"
)

// Describes what huma does not register: paths outside the API, streams, sockets, files, and lists of proxies that are not JSON.

// serverPath is a path outside the API.
type serverPath struct {
	path, id, summary string
	open              bool
	example           any
}

// serverPaths are the paths outside the API. Those that are open need no key.
var serverPaths = []serverPath{
	{"/healthz", "health", "Health check", true, map[string]string{"status": "ok"}},
	{"/readyz", "ready", "Readiness check: the database takes writes and a browser is installed", true,
		map[string]string{"database": "ok", "browser": "ok"}},
	{"/version", "version", "Version of the server", true, map[string]string{"version": "dev", "commit": "unknown", "go": "go1.26.8"}},
	{"/ip", "ip", "IP: get the caller's address, as JSON or (Accept: text/plain) as text", true, map[string]string{"ip": "203.0.113.7"}},
	{"/openapi.json", "openapi", "OpenAPI: get this document", true, map[string]string{"openapi": "3.1.0"}},
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

// metricsOperation describes GET /metrics.
func metricsOperation() *huma.Operation {
	op := plainOperation("metrics", "Metrics: get what the server has counted, for Prometheus", "server", nil, nil)
	op.Description = "The text format of Prometheus. It counts all workspaces, so a key of some is refused (403). `--metrics-listen` " +
		"serves the same at an address of its own, without a key.\n\nScope: `read`."
	op.Responses["200"].Content = map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString},
		Example: "# HELP warren_runs Runs by state.\n# TYPE warren_runs gauge\nwarren_runs{state=\"running\"} 3\n"}}
	return op
}

// binary returns the content of a body that is bytes of one of the types.
func binary(example string, types ...string) map[string]*huma.MediaType {
	content := map[string]*huma.MediaType{}
	for _, t := range types {
		content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}, Example: example}
	}
	return content
}

func pathParam(name, doc string) *huma.Param {
	return &huma.Param{Name: name, In: "path", Required: true, Description: doc, Schema: &huma.Schema{Type: "string"}}
}

func eventsOperation() *huma.Operation {
	op := plainOperation("streamEvents", "Events: stream what happens", "events", nil, nil)
	op.Description = "Server-sent events of the key's workspaces: `profile.*` (`created`, `batch_created` for many, `updated`, " +
		"`status`, `deleted`, `restored`, `batch_changed` for those of a job), `job.*` of the key's own jobs " +
		"(`created`, `progress`, `ended`), `browser.*` for administrators that see all workspaces (`progress`, `installed`, `failed`), " +
		"`run.*` (`started`, `updated`, `expiring`, `fallback`, `frozen`, `thawed`, `ended`), " +
		"`proxy.*` (`created`, `imported` for a whole list, `updated`, " +
		"`checked`, `all_checked` for many at once, `died`, `returned`, `exit_changed`, `deleted`), `key.*` and `capability.*` " +
		"(`created`, `revoked`).\n\n" +
		"`run.expiring` says that a run will be closed (`endsAt`) because it is `idle` or because of its `maxRun` (`reason`). With " +
		"`endsAt` null it continues after all. `run.fallback` says that a run's proxy (`from`) is dead (`code`), and that the run uses " +
		"another (`to`). `run.frozen` says that a browser that nobody needs was stopped (`since`), and `run.thawed` that it goes on. " +
		"`events.lost` comes first if the `Last-Event-ID` is no longer known: read everything again.\n\n" +
		"Something is sent at least every 15 s. A reader that does not keep up is disconnected. One key holds at most a quarter of " +
		"the server's connections for streams, clients, live views, files and single checks: 429 `too_many_connections`.\n\n" +
		"Scope: `read`."
	op.Parameters = []*huma.Param{{Name: "Last-Event-ID", In: "header",
		Description: "The id of the last event received. Later events are sent first. If it is no longer known (too old, or from " +
			"before a restart), `events.lost` is sent.",
		Schema: &huma.Schema{Type: "string"}}}
	op.Responses["200"].Content = map[string]*huma.MediaType{"text/event-stream": {
		Schema: &huma.Schema{Type: "string"},
		Example: "id: 0199a1c2-7d3e-7a10-8a55-0123456789ab\nevent: run.started\ndata: " +
			"{\"id\":\"0199a1c2-7d3e-7a10-8a55-0123456789ab\",\"type\":\"run.started\",\"at\":\"2026-11-21T14:06:00.000Z\"," +
			"\"workspaceId\":\"default\",\"data\":{\"id\":\"0199a1c2-7d3e-7a10-8a55-0123456789aa\"}}\n\n"}}
	return op
}

// cdpSummaries are the summaries of a socket and of what lies below it.
var cdpSummaries = map[string]string{
	"":              "CDP: control a running profile (Chrome DevTools Protocol)",
	"/json/version": "CDP: get the browser's version and its socket",
	"/json/list":    "CDP: list the tabs and their sockets",
}

func cdpOperation(suffix string) *huma.Operation {
	op := plainOperation("profileCdp"+strings.ReplaceAll(suffix, "/", "_"), cdpSummaries[suffix], "runs",
		&huma.Schema{}, map[string]string{"Browser": "Chrome/156.0.0.0"})
	op.Description = "With an upgrade: the browser's socket. Below it are `json/version`, `json/list`, `json/protocol`, " +
		"`devtools/browser/…` and `devtools/page/…`, as Chrome has them. Every address in them is rewritten to the one that the " +
		"client used.\n\nScope: `run`."
	op.Parameters = []*huma.Param{pathParam("id", "The profile's id.")}
	return op
}

func capabilityOperation(suffix string) *huma.Operation {
	op := plainOperation("capabilityCdp"+strings.ReplaceAll(suffix, "/", "_"), cdpSummaries[suffix]+", with a capability",
		"runs", &huma.Schema{}, map[string]string{"Browser": "Chrome/156.0.0.0"})
	op.Description = "The same as `/profiles/{id}/cdp`, without a key. The capability in `wsEndpoint` and `cdpUrl` opens one run and " +
		"ends with it."
	op.Parameters = []*huma.Param{pathParam("capability", "256 bits, from start's answer.")}
	op.Security = []map[string][]string{}
	return op
}

func liveOperation(suffix string) *huma.Operation {
	if suffix != "" {
		op := plainOperation("profileLiveDownload", "Live view: get a file that the profile's browser downloaded", "runs", nil, nil)
		op.Description = "A file that the browser of this run downloaded, by the id that the live view sent. It is available until the " +
			"run ends.\n\nScope: `run`."
		op.Parameters = []*huma.Param{pathParam("id", "The profile's id."), pathParam("download", "The download's id.")}
		op.Responses["200"].Content = binary("the file", "application/octet-stream")
		return op
	}
	op := plainOperation("profileLive", "Live view: watch and control a running profile (WebSocket)", "runs", nil, nil)
	op.Description = "The live view: frames out, input in (docs/live.md). With `readonly=1` it only watches.\n\nScope: `run`."
	op.Parameters = []*huma.Param{pathParam("id", "The profile's id.")}
	op.Responses["101"] = &huma.Response{Description: "The socket is open."}
	delete(op.Responses, "200")
	return op
}

func capabilityLiveOperation(suffix string) *huma.Operation {
	op := liveOperation(suffix)
	op.OperationID = strings.Replace(op.OperationID, "profile", "capability", 1)
	op.Summary += ", with a capability"
	op.Description = "The same as `/profiles/{id}/live`, without a key. The capability in `liveUrl` opens one run and ends with it. " +
		"A `readonly` one only watches."
	op.Parameters[0] = pathParam("capability", "256 bits, from start's answer or from a capability's.")
	op.Security = []map[string][]string{}
	return op
}

// showPictures sets the media types of answers that are not JSON.
func showPictures(o *huma.OpenAPI) {
	shot := binary("the bytes", "image/png", "image/jpeg", "image/webp")
	o.Paths["/profiles/{id}/screenshot"].Get.Responses["200"].Content = shot
	o.Paths["/profiles/{id}/pdf"].Get.Responses["200"].Content = binary("the bytes", "application/pdf")
	o.Paths["/audit"].Get.Responses["200"].Content[auditLines] = &huma.MediaType{
		Schema:  &huma.Schema{Type: huma.TypeString, Description: "A line for each entry: a JSON object as in `data`."},
		Example: *jsonText(auditJSON{}.example()) + "\n"}
	o.Paths["/proxies/check-all"].Post.Responses["200"].Content = map[string]*huma.MediaType{"application/x-ndjson": {
		Schema: &huma.Schema{Type: huma.TypeString,
			Description: "A line for each proxy: a JSON object as `POST /proxies/{id}/check` answers it."},
		Example: *jsonText(exampleCheck()) + "\n"}}
}

// showFiles adds the operations on the bytes of files.
func showFiles(o *huma.OpenAPI) {
	get := plainOperation("getDownload", "Downloads: get a file", "profiles", nil, nil)
	get.Description = "By its name in the list, whole or in part (`Range`, `If-Range`). It is always an attachment: no browser shows it " +
		"as a page of this server. 409 `download_in_progress` before it is complete. 404 `download_not_found` if there is no such " +
		"file.\n\nScope: `run`."
	get.Parameters = []*huma.Param{pathParam("id", "The profile's id."), pathParam("name", "The download's name."),
		{Name: "Range", In: "header", Description: "A range of the file (RFC 9110, 14.2). The answer is 206.",
			Schema: &huma.Schema{Type: huma.TypeString}, Example: "bytes=0-1023"}}
	bytes := binary("the bytes", "application/octet-stream")
	get.Responses["200"].Content = bytes
	get.Responses["206"] = &huma.Response{Description: "The requested range", Content: bytes}
	o.Paths["/profiles/{id}/downloads/{name}"].Get = get
	put := plainOperation("putUpload", "Upload: give a file to the pages of a run", "profiles",
		&huma.Schema{Ref: "#/components/schemas/UploadJSON"}, plain(UploadJSON{}.example()))
	o.Components.Schemas.Schema(reflect.TypeFor[UploadJSON](), true, "")
	put.Description = "The body is the file, of any type and at most `--upload-limit` (413; 1 GiB by default). The file appears once " +
		"it is complete, and replaces one of that name. The profile's next start deletes it. `path` is what `DOM.setFileInputFiles` " +
		"takes.\n\nErrors: 507 `files_quota` if it does not fit. 409 `profile_not_running` if the profile does not run, because its " +
		"start would delete the file.\n\nScope: `run`."
	put.Parameters = []*huma.Param{pathParam("id", "The profile's id."),
		pathParam("name", "The file's name, as pages see it: at most 255 bytes, without folders.")}
	put.RequestBody = &huma.RequestBody{Required: true, Content: bytes}
	o.Paths["/profiles/{id}/uploads/{name}"] = &huma.PathItem{Put: put}
}

// showArchives describes archives of profiles.
func showArchives(o *huma.OpenAPI) {
	bytes := binary("the bytes", "application/octet-stream")
	for _, path := range []string{"/profiles/{id}/export", "/profiles/export"} {
		o.Paths[path].Get.Responses["200"].Content = bytes
	}
	for _, p := range o.Paths["/profiles/export"].Get.Parameters {
		p.Required = p.Required || p.Name == "ids"
	}
	post := plainOperation("importProfiles", "Import profiles with their data, or of another product", "profiles", nil, nil)
	schema := o.Components.Schemas.Schema(reflect.TypeFor[ImportedProfiles](), true, "")
	problems := []*problem.Error{idTaken(), idempotencyConflict()}
	addProblemExamples(o, append(problems, snapshots.Refused(problem.Fault{Location: "body", Message: "The archive is damaged. Copy it " +
		"again, or export it again."})))
	answer := map[string]*huma.MediaType{"application/json": {Schema: schema, Example: plain(ImportedProfiles{}.example())}}
	post.Responses = map[string]*huma.Response{"201": {Description: "Created", Content: answer},
		"200": {Description: "With dryRun: what would be created", Content: answer}, "default": post.Responses["default"]}
	post.Description = descriptions["importProfiles"] + "\n\nScope: `write`, and `secrets` too."
	text := &huma.Schema{Type: huma.TypeString}
	post.Parameters = []*huma.Param{
		{Name: "workspaceId", In: "query", Schema: text, Example: "default",
			Description: "The workspace that gets the profiles. Without it: the key's only workspace, else default."},
		{Name: "as", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"new", "same"}},
			Description: "new (the default): each profile gets a new id. same: each gets the id that it had where it was exported; 409 " +
				"`duplicate` if that is taken. Only for archives."},
		{Name: "dryRun", In: "query", Schema: &huma.Schema{Type: huma.TypeBoolean},
			Description: "Says what would become of the file, and makes nothing. The answer is 200."},
		{Name: "X-Warren-Passphrase", In: "header", Schema: text, Description: "Opens an archive that a passphrase seals, as UTF-8."},
		{Name: "X-Warren-Identity", In: "header", Schema: text,
			Description: "Opens an archive that an age recipient seals: its identity, AGE-SECRET-KEY-1…."},
		{Name: "Idempotency-Key", In: "header", Schema: text, Description: "The same key and file get the first answer again."}}
	post.RequestBody = &huma.RequestBody{Required: true, Content: bytes, Description: "The file, of any size."}
	o.Paths["/profiles/import"] = &huma.PathItem{Post: post}
}

// showExtensions adds the operation that takes packages of extensions.
func showExtensions(o *huma.OpenAPI) {
	post := plainOperation("addExtension", "Add an extension", "extensions", nil, nil)
	schema := o.Components.Schemas.Schema(reflect.TypeFor[ExtensionJSON](), true, "")
	addProblemExamples(o, []*problem.Error{duplicateExtension(exampleRunID), idempotencyConflict(), packageTooLarge()})
	answer := map[string]*huma.MediaType{"application/json": {Schema: schema, Example: plain(ExtensionJSON{}.example())}}
	post.Responses = map[string]*huma.Response{"201": {Description: "Created", Content: answer},
		"200": {Description: "What a dry run would add", Content: answer}, "default": post.Responses["default"]}
	post.Description = descriptions["addExtension"] + "\n\nScope: `write`."
	text := &huma.Schema{Type: huma.TypeString}
	post.Parameters = []*huma.Param{
		{Name: "workspaceId", In: "query", Schema: text, Example: "default",
			Description: "The workspace that gets it. Without it: the key's only workspace, else default."},
		{Name: "dryRun", In: "query", Schema: &huma.Schema{Type: huma.TypeBoolean},
			Description: "Adds nothing, and answers what the package is and what it may do."},
		{Name: "Idempotency-Key", In: "header", Schema: text, Description: "The same key and file get the first answer again."}}
	content := map[string]*huma.MediaType{}
	for _, kind := range extensionKinds() {
		content[kind] = binary("the bytes", kind)[kind]
	}
	post.RequestBody = &huma.RequestBody{Required: true, Content: content, Description: "The package, of at most 100 MiB."}
	o.Paths["/extensions"].Post = post
}

// showLists sets the media types of import and export.
func showLists(o *huma.OpenAPI) {
	list := &huma.Schema{Type: huma.TypeObject, Required: []string{"proxies"},
		Properties: map[string]*huma.Schema{"proxies": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject,
			AdditionalProperties: true}}}}
	plainText := &huma.Schema{Type: huma.TypeString}
	o.Paths["/proxies/export"].Get.Responses["200"].Content = map[string]*huma.MediaType{
		"text/plain": {Schema: plainText, Example: "socks5://alice:secret@de.proxy.example:1080\n"},
		"text/csv": {Schema: plainText,
			Example: "type,host,port,username,password,name,tags,notes,rotateUrl,url\n" +
				"socks5,de.proxy.example,1080,alice,secret,Berlin,de,,,\n"},
		"application/json": {Schema: list, Example: plain(map[string]any{"proxies": []any{map[string]any{"type": "socks5",
			"host": "de.proxy.example", "port": 1080, "username": "alice", "password": "secret", "tags": []string{"de"}}}})}}
	op := o.Paths["/proxies/import"].Post
	closed := huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"proxies"},
		Properties: map[string]*huma.Schema{
			"workspaceId": {Type: huma.TypeString, Nullable: true, Description: "The workspace that gets the proxies."},
			"proxies": {Type: huma.TypeArray, MaxItems: new(maxImportLines), Items: &huma.Schema{}, Description: "Each an object as " +
				"addProxy takes it (without workspaceId; type may be absent), or a line of text/plain. Others are invalid in `results`."}}}
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: &closed, Example: plain(importRequest{}.example())},
		"text/plain": {Schema: plainText,
			Example: "# two proxies\nde.proxy.example:1080:alice:secret\nhttp://fr.proxy.example:3128\n"},
		"text/csv": {Schema: plainText,
			Example: "type,host,port,username,password,tags\nsocks5,de.proxy.example,1080,alice,secret,\"shop,de\"\n"}}}
}
